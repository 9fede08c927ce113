package main

import (
	"os"
	"runtime/pprof"
)

// startProfile writes a CPU profile to a file until stop is called; without a path
// it does nothing.
func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	w, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		w.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		w.Close()
	}, nil
}

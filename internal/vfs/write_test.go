package vfs

import (
	"math/rand/v2"
	"testing"
)

// TestWriteFileSurvivesCrashes crashes before every operation of replacing a
// file: the old contents or the new ones are there, and the new ones once
// WriteFile returned.
func TestWriteFileSurvivesCrashes(t *testing.T) {
	for percent := 0; percent <= 100; percent += 50 {
		mem := NewCrashableMem()
		if err := mem.MkdirAll("d", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := SyncDir(mem, ""); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(mem, "d", "f", []byte("old")); err != nil {
			t.Fatal(err)
		}
		var images []*CrashFS
		fs := WithFaults(mem, func(Op) error {
			images = append(images, CrashClone(mem, percent, rand.New(rand.NewPCG(1, uint64(len(images))))))
			return nil
		})
		if err := WriteFile(fs, "d", "f", []byte("new!")); err != nil {
			t.Fatal(err)
		}
		images = append(images, CrashClone(mem, percent, rand.New(rand.NewPCG(2, 2))))
		for i, im := range images {
			b, err := ReadFile(im, "d/f")
			last := i == len(images)-1
			if err != nil || string(b) != "new!" && (last || string(b) != "old") {
				t.Errorf("%d%%, crash %d of %d: %q %v", percent, i, len(images), b, err)
			}
		}
	}
}

func TestFaultsAndDiskFull(t *testing.T) {
	fs := WithFaults(NewMem(), func(op Op) error {
		if op.Kind == OpCreate {
			return ErrCorruption
		}
		return nil
	})
	if _, err := fs.Create("x", WriteCategory); err != ErrCorruption {
		t.Errorf("%v", err)
	}
	if _, err := ReadFile(OnDiskFull(fs, func() {}), "x"); err == nil {
		t.Error("a file that was never made can be read")
	}
}

package engine

import (
	"sync"
	"sync/atomic"

	"github.com/streamdb/streamdb/engine/jobs"
)

// Engine is a whole server but for the protocol. Its methods are safe for
// concurrent use.
type Engine struct {
	*jobs.Runner
	notices  notices
	advisory advisoryLocks
	temps    atomic.Int64 // numbers of schemas of temporary objects given out
	plans    planCache

	sessionsMu sync.RWMutex
	sessions   map[int32]*Session
	closing    map[uint32]bool // databases that nobody may connect to: they are being dropped or renamed
}

// What a caller sees of jobs.
type (
	// Config is how an engine is set up.
	Config = jobs.Config
	// JobProgress tells how far a job has come.
	JobProgress = jobs.JobProgress
)

// Open opens or creates a data directory and brings every job back to its last
// committed epoch.
func Open(cfg Config) (*Engine, error) {
	r, err := jobs.Open(cfg, statusRelations()...)
	if err != nil {
		return nil, err
	}
	return &Engine{Runner: r, sessions: map[int32]*Session{}, closing: map[uint32]bool{}}, nil
}

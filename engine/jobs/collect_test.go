package jobs

import (
	"runtime"
	"testing"

	"github.com/streamdb/streamdb/exec"
)

// The late answer of a halted job is not taken for one of the answers that the
// epoch still waits for.
func TestAnswerOfHaltedJobDoesNotEndTheEpoch(t *testing.T) {
	e, err := Open(Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := e.newGraph()
	task := func(id uint32) *jobTask {
		j := &Job{ID: id, eng: e, awaiting: 1}
		g.jobs[id] = j
		return &jobTask{job: j}
	}
	dropped, live := task(1), task(2)
	ep := &epochRun{bar: &exec.Barrier{Epoch: 7}}
	done := make(chan error, 1)
	go func() { done <- g.collect(ep) }()
	wait := func(taken func() bool) {
		for !taken() {
			runtime.Gosched()
		}
	}

	dropped.job.mu.Lock()
	dropped.job.halted = true
	dropped.job.mu.Unlock()
	g.poke()
	wait(func() bool { return len(g.poked) == 0 })
	g.answers.add(&contribution{task: dropped, epoch: 7})
	wait(func() bool {
		g.answers.mu.Lock()
		defer g.answers.mu.Unlock()
		return len(g.answers.list) == 0
	})
	g.answers.add(&contribution{task: live, epoch: 7})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, p := range ep.parts {
		if p.task == live {
			return
		}
	}
	t.Fatal("the epoch ended without the answer of a running job")
}

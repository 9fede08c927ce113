package exec

import (
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// recorder is an output that counts what reaches it.
type recorder struct{ barriers []types.Epoch }

func (r *recorder) Send(*vec.Chunk) error { return nil }
func (r *recorder) Barrier(b *Barrier) error {
	r.barriers = append(r.barriers, b.Epoch)
	return nil
}

// An output that is attached as soon as a task has reported an epoch must not get
// that epoch's barrier: its reader would wait for one barrier more than its other
// producers send.
func TestOutputAttachedAtRestSeesNoOldBarrier(t *testing.T) {
	in := NewInbox()
	edge := in.Connect(0, false)
	fan, early, late := &FanOut{}, &recorder{}, &recorder{}
	fan.Add(early)
	reported := make(chan types.Epoch)
	task := StartTask(TaskSpec{Name: "t", Tree: &Tree{ctx: &BuildCtx{}}, Inbox: in, Out: fan,
		Sealed: func(b *Barrier) error {
			if b.Epoch == 1 {
				fan.Add(late)
			}
			reported <- b.Epoch
			return nil
		},
		Failed: func(err error) { t.Error(err) }})
	for e := types.Epoch(1); e <= 2; e++ {
		if err := edge.Send(Message{Barrier: &Barrier{Epoch: e}}); err != nil {
			t.Fatal(err)
		}
		if got := <-reported; got != e {
			t.Fatalf("epoch %d reported, want %d", got, e)
		}
	}
	in.Stop()
	<-task.Done()
	if len(early.barriers) != 2 {
		t.Errorf("the old output saw barriers %v, want 1 and 2", early.barriers)
	}
	if len(late.barriers) != 1 || late.barriers[0] != 2 {
		t.Errorf("the new output saw barriers %v, want only 2", late.barriers)
	}
}

package main

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// execution is a line of a ledger: one job that one worker executed to its end.
type execution struct {
	Job            string     `json:"job_id"`
	Epoch          int64      `json:"epoch,omitempty"`
	Tenant         string     `json:"tenant,omitempty"` // whose the key is
	IdempotencyKey string     `json:"idempotency_key,omitempty"`
	Worker         string     `json:"worker_id"`
	Seq            uint64     `json:"seq"`       // of the dispatch in CORDUM_JOBS
	Delivered      uint64     `json:"delivered"` // how often it was delivered
	Status         job.Status `json:"status"`
	Began          time.Time  `json:"began"`
	Ended          time.Time  `json:"ended"`
}

// ledger is a file of executions. Nil keeps none.
type ledger struct {
	mu   sync.Mutex
	file *os.File
}

// openLedger opens the file called name, to go on at its end; "" is no ledger.
func openLedger(name string) (*ledger, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "--ledger: %s cannot be written: %v", name, strictyaml.FileReason(err))
	}
	return &ledger{file: file}, nil
}

// record appends a line, in one write: a worker that is killed leaves no half of one.
func (l *ledger) record(e execution) error {
	if l == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return cli.Fail(cli.ExitUsage, "--ledger: %s cannot be written: %v", l.file.Name(), strictyaml.FileReason(err))
	}
	return nil
}

func (l *ledger) close() {
	if l != nil {
		_ = l.file.Close()
	}
}

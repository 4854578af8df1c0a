package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// existing are jobs that had a record before they were submitted, by their ids.
type existing map[string]existed

type existed struct {
	since time.Time
	state job.State
}

// lookBatch is how many records are read at once: each holds its job's payload.
const lookBatch = 100

// differs says what of a request is not as the record has it, or "". What an approval has added is no difference.
func differs(r *store.Record, asked job.Request) string {
	asked.IdempotencyKey = asked.JobID // as a client fills it in
	req, err := r.Request()
	switch {
	case err == nil && req.Hash() == asked.Hash():
		return ""
	case !bytes.Equal(compact(req.Payload), compact(asked.Payload)):
		return "payload"
	}
	return "request"
}

// compact is JSON as packets hold it; none is nil.
func compact(payload json.RawMessage) []byte {
	if len(payload) == 0 {
		return nil
	}
	body, _ := json.Marshal(payload) // what is no JSON was refused
	return body
}

// mark notes in what became of jobs which of them existed before.
func (e existing) mark(list []ending) []ending {
	for i := range list {
		if was, ok := e[list[i].Job]; ok {
			list[i].ExistedSince = &was.since
		}
	}
	return list
}

// printSubmitted says which jobs were submitted, and which of them there were already.
func printSubmitted(p *cli.Printer, ids []string, before existing) {
	if len(ids) > 1 {
		p.Line("Submitted %s: %s to %s", cli.Plural(len(ids), "job"), ids[0], ids[len(ids)-1])
	}
	for _, id := range ids {
		was, ok := before[id]
		switch {
		case ok && len(ids) == 1:
			p.Line("%s exists already, since %s, with the same request: it is %s", id, was.since.Format(time.RFC3339), was.state)
		case ok:
			p.Line("  %s of them existed already, with the same request, such as %s: it is %s, since %s", cli.Thousands(len(before)), id, was.state, was.since.Format(time.RFC3339))
			return
		case len(ids) == 1:
			p.Line("Submitted %s", id)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/settings"
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

// look finds out which of the jobs exist already. One that does with another request is refused: what it was asked
// for first is what is done, and nothing else.
func (f *submitFlags) look(ctx context.Context, client *redis.Client) (existing, error) {
	if f.fresh {
		return nil, nil
	}
	found := existing{}
	records := store.Store{Redis: client, Clock: clockwork.NewRealClock(), Timeout: settings.Hardened().StoreOpTimeout}
	for from := 1; from <= f.jobs; from += lookBatch {
		var ids []string
		for n := from; n <= min(f.jobs, from+lookBatch-1); n++ {
			ids = append(ids, f.jobID(n))
		}
		list, unreadable, err := records.ReadAll(ctx, ids)
		if err = errors.Join(append(unreadable, err)...); err != nil {
			return nil, err
		}
		for i := range list {
			r := &list[i]
			asked := f.request(1)
			asked.JobID = r.JobID
			if other := differs(r, asked); other != "" {
				return nil, cli.Fail(cli.ExitUsage, "%s exists already, since %s, with another %s: it is %s, and stays as it is; nothing was submitted: give another id, or what it was submitted with",
					r.JobID, r.CreatedAt.UTC().Format(time.RFC3339), other, r.State)
			}
			found[r.JobID] = existed{r.CreatedAt.UTC(), r.State}
		}
	}
	return found, nil
}

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

package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// machine is a machine that works.
type machine struct {
	conn          *Conn
	opt           WorkOptions
	program, name string
	hand          hand
	jobs          map[string]*campaign.Job // of the present campaigns, by their digests
	odd           map[string]string        // what was said of campaigns that cannot be worked on
}

// offer is a campaign to work on.
type offer struct {
	digest string
	job    *campaign.Job
	chunks jetstream.Consumer
	first  *campaign.Chunk // its chunk that is in hand; nil if it has none for now
}

// subject is the subject of the chunk in hand, or "".
func (o *offer) subject() string {
	if o == nil || o.first == nil {
		return ""
	}
	return chunkSubject(o.digest, o.first.First)
}

// find returns the oldest campaign that has a chunk. If none has one, it returns the youngest, since an older
// one is likelier to have been given up. It returns nil if there is no campaign.
func (w *machine) find(ctx context.Context) (*offer, error) {
	all, err := w.campaigns(ctx)
	if err != nil {
		return nil, err
	}
	o, err := w.firstOf(ctx, all)
	for _, digest := range slices.Backward(all) {
		if o != nil || err != nil {
			break
		}
		o, err = w.open(ctx, digest)
	}
	return o, err
}

// instead returns another campaign that has a chunk, or none. It prefers the oldest. With older, the campaign
// must be older than the present one, which still has chunks.
func (w *machine) instead(ctx context.Context, of string, older bool) (*offer, error) {
	all, err := w.campaigns(ctx)
	if at := slices.Index(all, of); at >= 0 && older {
		all = all[:at]
	}
	if err != nil {
		return nil, err
	}
	return w.firstOf(ctx, slices.DeleteFunc(all, func(digest string) bool { return digest == of }))
}

// campaigns lists the present campaigns of this build, the oldest first.
func (w *machine) campaigns(ctx context.Context) (digests []string, err error) {
	list := w.conn.js.ListStreams(ctx, jetstream.WithStreamListSubject(anyChunk))
	var mine, others []*jetstream.StreamInfo
	for s := range list.Info() {
		if _, ok := digestOf(s.Config.Name); !ok {
			continue
		}
		if f := factsOf(s.Config.Metadata); f.program == w.program && f.build == buildname.Of() {
			mine = append(mine, s)
		} else {
			others = append(others, s)
		}
	}
	if err := list.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return nil, err
	}
	older := func(a, b *jetstream.StreamInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Config.Name, b.Config.Name))
	}
	if len(mine) == 0 && len(others) > 0 {
		s := slices.MinFunc(others, older)
		f := factsOf(s.Config.Metadata)
		digest, _ := digestOf(s.Config.Name)
		return nil, endError{fmt.Errorf("campaign %s at %s is of another build (%s, program %s) than this one (%s, program %s); work with the build that began it", digest, w.conn.at, f.build, f.program, buildname.Of(), w.program)}
	}
	slices.SortFunc(mine, older)
	for _, s := range mine {
		digest, _ := digestOf(s.Config.Name)
		digests = append(digests, digest)
	}
	for digest := range w.jobs {
		if !slices.Contains(digests, digest) {
			delete(w.jobs, digest)
			delete(w.odd, digest)
		}
	}
	return digests, nil
}

// endError is an error against which retrying does not help.
type endError struct{ error }

// firstOf takes a chunk of the first campaign that has one. A campaign whose consumer has nothing pending may
// still have a chunk: one that was given back, or that is no longer reported.
func (w *machine) firstOf(ctx context.Context, digests []string) (*offer, error) {
	for _, digest := range digests {
		o, err := w.open(ctx, digest)
		if err != nil {
			return nil, err
		}
		if o == nil || o.chunks.CachedInfo().NumPending == 0 && o.chunks.CachedInfo().NumAckPending == 0 {
			continue
		}
		got, err := o.chunks.FetchNoWait(1)
		if err == nil {
			o.first, err = w.taken(o, got)
		}
		if err != nil && !isGone(err) {
			return nil, err
		}
		if o.first != nil {
			return o, nil
		}
	}
	return nil, nil
}

// open prepares for a campaign. It returns nil if the campaign is gone, or its job is wrong: there may be
// others.
func (w *machine) open(ctx context.Context, digest string) (*offer, error) {
	chunks, err := w.conn.js.Consumer(ctx, chunksStream(digest), consumerName)
	job := w.jobs[digest]
	if err == nil && job == nil {
		job, err = w.conn.job(ctx, digest)
	}
	var wrong wrongJobError
	switch {
	case isGone(err):
		return nil, nil
	case errors.As(err, &wrong):
		if said := wrong.Error(); said != w.odd[digest] {
			w.odd[digest] = said
			w.opt.Say("%s: %s", w.conn.at, said)
		}
		return nil, nil
	case err != nil:
		return nil, err
	}
	w.jobs[digest] = job
	return &offer{digest: digest, job: job, chunks: chunks}, nil
}

// taken takes a fetched chunk in hand. It returns nil if none was fetched, or the chunk is in hand already.
func (w *machine) taken(o *offer, got jetstream.MessageBatch) (*campaign.Chunk, error) {
	for msg := range got.Messages() {
		var m chunkMessage
		if json.Unmarshal(msg.Data(), &m) != nil || m.Campaign != o.digest || m.Count < 1 || msg.Subject() != chunkSubject(o.digest, m.First) {
			w.opt.Say("%s holds what is no chunk of campaign %s, at %s; it is left out", w.conn.at, o.digest, msg.Subject())
			_ = msg.Term()
			continue
		}
		if w.hand.take(msg, o.chunks.CachedInfo().Config.AckWait/3, time.Now()) {
			return &m.Chunk, nil
		}
	}
	if err := got.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, nil
}

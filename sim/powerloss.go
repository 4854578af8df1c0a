package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// LosePowerNATS stops nats-server and starts it again when away has passed, as [World.RestartNATS] does, but
// without what its streams on file storage have stored within the last lag: nats-server acknowledges what it has
// written, and has it on the disk up to sync_interval later (two minutes by default). Those who published it were
// told that it is stored. The event of the step names the messages that are gone.
//
// Streams and consumers themselves stay. nats-server takes back what a consumer's state says of messages that are
// gone; their sequences are given anew. Of a stream that has nothing left, consumers begin anew. A stream from
// which messages were removed is none that this can cut: it panics.
func (w *World) LosePowerNATS(lag, away time.Duration, back func()) {
	if w.NATSDown() {
		w.stopNATS(away, back, nil)
		return
	}
	whole := map[string]uint64{} // the streams on file storage, and their messages
	for _, name := range sortedKeys(w.streams) {
		s, err := w.adminJS.Stream(context.Background(), name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // a step deleted it
			continue
		case err != nil:
			panic(fmt.Sprintf("sim: stream %s: %v", name, err))
		}
		state := s.CachedInfo().State
		if s.CachedInfo().Config.Storage != jetstream.FileStorage {
			continue
		}
		if state.Msgs != state.LastSeq {
			panic(fmt.Sprintf("sim: stream %s loses its tail by a power loss, but messages were removed from it, of which its files tell too little", name))
		}
		whole[name] = state.Msgs
	}
	w.stopNATS(away, back, func(at time.Duration) error {
		for _, name := range sortedKeys(whole) {
			if err := w.cutTail(name, whole[name], w.start.Add(at-lag)); err != nil {
				return err
			}
		}
		return nil
	})
}

// cutTail has a stream of a stopped nats-server lose what it has stored after an instant.
func (w *World) cutTail(name string, messages uint64, after time.Time) error {
	stream := filepath.Join(w.dir, "jetstream", "$G", "streams", name)
	kept, lost, err := truncateStream(filepath.Join(stream, "msgs"), after)
	switch {
	case err != nil:
		return err
	case kept+uint64(len(lost)) != messages:
		return fmt.Errorf("stream %s holds %d messages, but its files %d", name, messages, kept+uint64(len(lost)))
	case len(lost) == 0:
		return nil
	case kept == 0:
		if err := forgetConsumers(filepath.Join(stream, "obs")); err != nil {
			return err
		}
	}
	for i := range lost {
		lost[i].Stream = name
	}
	w.streams[name].last = kept
	w.rewound = append(w.rewound, lost...)
	return nil
}

// truncateStream takes from a stopped nats-server's files what a stream has stored after an instant, and says
// how many messages it kept, and which those were that it did not.
func truncateStream(dir string, after time.Time) (kept uint64, lost []Change, err error) {
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		return 0, nil, err
	}
	number := func(path string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		return n
	}
	slices.SortFunc(blocks, func(a, b string) int { return number(a) - number(b) })
	for _, path := range blocks {
		block, err := os.ReadFile(path)
		if err != nil {
			return 0, nil, err
		}
		cut, before, gone, err := splitBlock(block, after)
		switch {
		case err != nil:
			return 0, nil, fmt.Errorf("%s: %w", path, err)
		case len(lost) > 0:
			err = os.Remove(path)
		case len(gone) > 0:
			err = os.Truncate(path, int64(cut))
		}
		if err != nil {
			return 0, nil, err
		}
		kept, lost = kept+before, append(lost, gone...)
	}
	if len(lost) > 0 {
		// It speaks of what is gone, and nats-server does without: it reads the blocks.
		if err := os.Remove(filepath.Join(dir, "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, nil, err
		}
	}
	return kept, lost, nil
}

// forgetConsumers takes what a stopped nats-server knows of how far its consumers have got. It does not take that
// back itself where nothing is left of a stream (nats-server 2.15.2, consumer.go, reconcileStateWithStream), and
// would hand a consumer what comes in the place of what it had, whatever its subject.
func forgetConsumers(dir string) error {
	states, err := filepath.Glob(filepath.Join(dir, "*", "o.dat"))
	for _, path := range states {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// What a record of a block begins with, and the bit that marks it (nats-server, server/filestore.go).
const (
	recordHeader = 4 + 8 + 8 + 2 // length, sequence, time, length of the subject
	hasHeader    = 1 << 31       // in the length: the message has a header
)

var errNoBlock = errors.New("not a block as nats-server writes it")

// decodeHeader reads the header with which the rest of a record begins, after its own length.
func decodeHeader(rest []byte) (map[string]string, error) {
	if len(rest) < 4 || int(binary.LittleEndian.Uint32(rest)) > len(rest)-4 {
		return nil, errNoBlock
	}
	h, err := nats.DecodeHeadersMsg(rest[4 : 4+binary.LittleEndian.Uint32(rest)])
	return flat(h), err
}

// splitBlock says where in a block the messages begin that were stored after an instant, how many come before,
// and which they are.
func splitBlock(block []byte, after time.Time) (cut int, before uint64, gone []Change, err error) {
	le := binary.LittleEndian
	for at := 0; at < len(block); {
		rest := block[at:]
		if len(rest) < recordHeader {
			return 0, 0, nil, errNoBlock
		}
		length, subject := int(le.Uint32(rest)&^hasHeader), int(le.Uint16(rest[20:]))
		if length < recordHeader+subject || length > len(rest) {
			return 0, 0, nil, errNoBlock
		}
		at += length
		if !time.Unix(0, int64(le.Uint64(rest[12:]))).After(after) {
			cut, before = at, before+1
			continue
		}
		c := Change{Seq: le.Uint64(rest[4:]), Subject: string(rest[recordHeader : recordHeader+subject]), Gone: true}
		if le.Uint32(rest)&hasHeader != 0 {
			if c.Header, err = decodeHeader(rest[recordHeader+subject : length]); err != nil {
				return 0, 0, nil, err
			}
		}
		gone = append(gone, c)
	}
	return cut, before, gone, nil
}

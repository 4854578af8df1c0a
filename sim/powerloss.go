package sim

import (
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
)

// LosePowerNATS stops nats-server and starts it again when away has passed, as [World.RestartNATS] does, but
// without what its streams have stored within the last lag: nats-server acknowledges what it has written, and
// has it on the disk up to sync_interval later (two minutes by default). Those who published it were told that
// it is stored. The event of the step names the messages that are gone.
//
// Streams and consumers themselves stay. nats-server takes back what a consumer's state says of messages that are
// gone; their sequences are given anew. Of a stream that has nothing left, consumers begin anew.
func (w *World) LosePowerNATS(lag, away time.Duration, back func()) {
	w.stopNATS(away, back, func(at time.Duration) error {
		for _, name := range sortedKeys(w.streams) {
			stream := filepath.Join(w.dir, "jetstream", "$G", "streams", name)
			lost, err := truncateStream(filepath.Join(stream, "msgs"), w.start.Add(at-lag))
			if err != nil {
				return err
			}
			if len(lost) > 0 && lost[0].Seq == 1 {
				if err := forgetConsumers(filepath.Join(stream, "obs")); err != nil {
					return err
				}
			}
			for i := range lost {
				lost[i].Stream = name
			}
			if len(lost) > 0 {
				w.streams[name].last = lost[0].Seq - 1
				w.rewound = append(w.rewound, lost...)
			}
		}
		return nil
	})
}

// truncateStream takes from a stopped nats-server's files what a stream has stored after an instant, and says
// which messages those were. A stream in memory has no files.
func truncateStream(dir string, after time.Time) (lost []Change, err error) {
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		return nil, err
	}
	number := func(path string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		return n
	}
	slices.SortFunc(blocks, func(a, b string) int { return number(a) - number(b) })
	cut := false // what follows is lost whole
	for _, path := range blocks {
		block, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		kept, gone, err := splitBlock(block, after, cut)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case cut:
			err = os.Remove(path)
		case kept < len(block):
			cut, err = true, os.Truncate(path, int64(kept))
		}
		if err != nil {
			return nil, err
		}
		lost = append(lost, gone...)
	}
	if cut {
		// It speaks of what is gone, and nats-server does without: it reads the blocks.
		if err := os.Remove(filepath.Join(dir, "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return lost, nil
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

// What a record of a block begins with, and the bits that mark it (nats-server, server/filestore.go).
const (
	recordHeader = 4 + 8 + 8 + 2 // length, sequence, time, length of the subject
	hasHeader    = 1 << 31       // in the length: the message has a header
	isRemoval    = 3 << 62       // in the sequence: of a message that is removed
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

// splitBlock says how much of a block was written up to an instant, and which messages the rest holds.
func splitBlock(block []byte, after time.Time, cut bool) (kept int, gone []Change, err error) {
	le := binary.LittleEndian
	for at := 0; at < len(block); {
		rest := block[at:]
		if len(rest) < recordHeader {
			return 0, nil, errNoBlock
		}
		length, seq, subject := int(le.Uint32(rest)&^hasHeader), le.Uint64(rest[4:]), int(le.Uint16(rest[20:]))
		if length < recordHeader+subject || length > len(rest) || err != nil {
			return 0, nil, errNoBlock
		}
		cut = cut || time.Unix(0, int64(le.Uint64(rest[12:]))).After(after)
		switch {
		case !cut:
			kept = at + length
		case seq&isRemoval == 0:
			c := Change{Seq: seq, Subject: string(rest[recordHeader : recordHeader+subject]), Gone: true}
			if le.Uint32(rest)&hasHeader != 0 {
				c.Header, err = decodeHeader(rest[recordHeader+subject : length])
			}
			gone = append(gone, c)
		}
		at += length
	}
	return kept, gone, err
}

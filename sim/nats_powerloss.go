package sim

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// KillNATS ends nats-server as a SIGKILL does, and starts it again once away has passed, as
// [World.RestartNATS] does, on its files as they are at this instant. The files have every message that it
// has acknowledged. But nats-server writes a consumer's deliveries and acknowledgements at most ten times a
// second, so the last of those are forgotten.
func (w *World) KillNATS(away time.Duration, back func()) {
	find[*natsServer](w.servers).kill(away, back, nil)
}

// kill ends nats-server and starts it again once away has passed, on its files as they are at this instant
// and as spoil leaves them. spoil may be nil.
func (s *natsServer) kill(away time.Duration, back func(), spoil func() error) {
	now := filepath.Join(s.world.folder, "nats-killed")
	if !s.down.Load() {
		if err := os.CopyFS(now, os.DirFS(s.dir)); err != nil {
			panic(fmt.Sprintf("sim: nats-server's files: %v", err))
		}
	}
	s.restart(away, back, func() error {
		if err := errors.Join(os.RemoveAll(s.dir), os.Rename(now, s.dir)); err != nil || spoil == nil {
			return err
		}
		return spoil()
	})
}

// LosePowerNATS does the same as [World.KillNATS], but streams on file storage also lose messages: of those
// stored since the last sync, the ones stored within the last lag. Without a lag all of them are lost.
// nats-server acknowledges a message once it is written, and has it on the disk up to [Config.SyncInterval]
// later. So publishers were told that these messages are stored (Jepsen, "NATS 2.12.1"). With
// [Config.SyncAlways] no message is lost. The event of the step names the lost messages. A part of the first
// of them stays in the file, and nats-server finds it there.
//
// Streams and consumers themselves stay. nats-server takes back what a consumer's state says of lost
// messages, and reuses their sequences. It takes nothing back if all messages of the consumer's state are
// lost (2.15.2, filestore.go: ForceUpdate reads a state of zero from the file again). Such a consumer is
// handed the messages that have the reused sequences, whatever their subjects. LosePowerNATS panics if
// messages were removed from a stream, since its files tell too little then.
func (w *World) LosePowerNATS(lag, away time.Duration, back func()) {
	s := find[*natsServer](w.servers)
	if s.down.Load() || w.cfg.SyncAlways {
		s.kill(away, back, nil)
		return
	}
	whole := s.fileStreams()
	synced := w.Now().Truncate(cmp.Or(w.cfg.SyncInterval, syncInterval))
	if lag > 0 {
		synced = max(synced, w.Now()-lag)
	}
	s.kill(away, back, func() error {
		for _, name := range sortedKeys(whole) {
			if err := s.cutTail(name, whole[name], s.world.start.Add(synced)); err != nil {
				return err
			}
		}
		return nil
	})
}

// syncInterval is nats-server's default of sync_interval.
const syncInterval = 2 * time.Minute

// fileStreams counts the messages of each stream on file storage.
func (s *natsServer) fileStreams() map[string]uint64 {
	whole := map[string]uint64{}
	for _, name := range sortedKeys(s.streams) {
		stream, err := s.js.Stream(context.Background(), name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound): // a step deleted it
			continue
		case err != nil:
			panic(fmt.Sprintf("sim: stream %s: %v", name, err))
		}
		state := stream.CachedInfo().State
		if stream.CachedInfo().Config.Storage != jetstream.FileStorage {
			continue
		}
		if state.Msgs != state.LastSeq {
			panic(fmt.Sprintf("sim: stream %s loses its tail by a power loss, but messages were removed from it, of which its files tell too little", name))
		}
		whole[name] = state.Msgs
	}
	return whole
}

// cutTail removes from a stream of a stopped nats-server what it has stored after an instant.
func (s *natsServer) cutTail(name string, messages uint64, after time.Time) error {
	stream := filepath.Join(s.dir, "jetstream", "$G", "streams", name)
	kept, lost, err := truncateStream(filepath.Join(stream, "msgs"), after, s.world.Draw("torn", NATS, name))
	switch {
	case err != nil:
		return err
	case kept+uint64(len(lost)) != messages:
		return fmt.Errorf("stream %s holds %d messages, but its files %d", name, messages, kept+uint64(len(lost)))
	case len(lost) == 0:
		return nil
	}
	for i := range lost {
		lost[i].Stream = name
	}
	s.streams[name].last = kept
	s.lost = append(s.lost, lost...)
	return nil
}

// truncateStream removes from a stopped nats-server's files what a stream has stored after an instant. It
// returns the number of the messages that are kept, and the messages that are lost. The block ends in the
// middle of the first lost message, at a byte drawn by chance.
func truncateStream(dir string, after time.Time, chance uint64) (kept uint64, lost []Change, err error) {
	blocks, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		return 0, nil, err
	}
	slices.SortFunc(blocks, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) // by number
	for _, path := range blocks {
		block, err := os.ReadFile(path)
		if err != nil {
			return 0, nil, err
		}
		cut, torn, before := 0, 0, len(lost)
		for at := 0; at < len(block); {
			length, stored, message, err := readRecord(block[at:])
			if err != nil {
				return 0, nil, fmt.Errorf("%s: %w", path, err)
			}
			at += length
			if stored.After(after) {
				if len(lost) == before {
					torn = int(chance % uint64(length))
				}
				lost = append(lost, message)
			} else {
				kept, cut = kept+1, at
			}
		}
		switch {
		case before > 0:
			err = os.Remove(path)
		case len(lost) > 0:
			err = os.Truncate(path, int64(cut+torn))
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if len(lost) > 0 {
		err = os.RemoveAll(filepath.Join(dir, "index.db")) // index.db lists what is gone; without it nats-server reads the blocks
	}
	return kept, lost, err
}

// The header of a block's record, and the bit that marks a message with headers (nats-server,
// server/filestore.go).
const (
	recordHeader = 4 + 8 + 8 + 2 // length, sequence, time, length of the subject
	hasHeader    = 1 << 31       // in the length: the message has a header
)

var errNoBlock = errors.New("not a block as nats-server writes it")

// readRecord reads the first record of block: its length, the time at which it was stored, and its message.
func readRecord(block []byte) (length int, stored time.Time, message Change, err error) {
	le := binary.LittleEndian
	if len(block) < recordHeader {
		return 0, stored, message, errNoBlock
	}
	length, subject := int(le.Uint32(block)&^hasHeader), int(le.Uint16(block[20:]))
	if length < recordHeader+subject || length > len(block) {
		return 0, stored, message, errNoBlock
	}
	stored = time.Unix(0, int64(le.Uint64(block[12:])))
	message = Change{Seq: le.Uint64(block[4:]), Subject: string(block[recordHeader : recordHeader+subject]), Gone: true}
	if le.Uint32(block)&hasHeader != 0 {
		rest := block[recordHeader+subject : length] // begins with a length of its own
		if len(rest) < 4 || int(le.Uint32(rest)) > len(rest)-4 {
			return 0, stored, message, errNoBlock
		}
		var h nats.Header
		h, err = nats.DecodeHeadersMsg(rest[4 : 4+le.Uint32(rest)])
		message.Header = flat(h)
	}
	return length, stored, message, err
}

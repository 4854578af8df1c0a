package sim

import (
	"fmt"
	"time"
)

// KillRedis ends Redis as a SIGKILL does, and starts it again on what it had written to its files ([Config.RedisDisk]): an
// append-only file has all that it was asked to write, synced or not, and of snapshots the last one counts. The harness calls
// it in a step of its own ([World.At]), whose event has what is changed back. Every connection is lost, with what it WATCHes,
// and Redis has no scripts.
func (w *World) KillRedis() {
	s := find[*redisServer](w.servers)
	s.savePoint()
	cut := w.Now()
	if w.cfg.RedisDisk == DiskRDB {
		cut = s.syncedUntil()
	}
	s.die(cut, false)
}

// LosePowerRedis does the same as [World.KillRedis], but what was not on the disk is lost, too: what was written since its files
// were last synced, and of that what was written in the last lag. Without a lag it is all of it. A redis-server finds an
// append-only file that ends in the middle of a command.
func (w *World) LosePowerRedis(lag time.Duration) {
	s := find[*redisServer](w.servers)
	s.savePoint()
	cut := s.syncedUntil()
	if lag > 0 && w.cfg.RedisDisk != DiskRDB {
		cut = max(cut, w.Now()-lag)
	}
	s.die(cut, true)
}

// die ends Redis and starts it again with what it held at an instant. A redis-server says itself what it has loaded.
func (s *redisServer) die(cut time.Duration, torn bool) {
	if s.world.cfg.RedisDisk == "" {
		panic("sim: Redis dies, but Config.RedisDisk does not say what it keeps")
	}
	s.gone++
	held, err := s.store.die(cut, torn)
	if err != nil {
		panic(fmt.Sprintf("sim: Redis does not come back: %v", err))
	}
	loaded := held != nil
	if !loaded {
		s.store.forget()
		held = s.heldAt(cut)
	} else {
		for key := range s.shadow {
			if _, there := held[key]; !there {
				held[key] = value{}
			}
		}
	}
	for _, key := range sortedKeys(held) {
		s.rewind(key, held[key], loaded)
	}
	if torn || s.world.cfg.RedisDisk == DiskRDB { // after a kill, what was not synced still is not
		s.unlagged = nil
		s.sync()
	}
}

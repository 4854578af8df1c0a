package sim

import (
	"fmt"
	"time"
)

// KillRedis ends Redis as a SIGKILL does, and starts it again on its files ([Config.RedisDisk]). An
// append-only file has everything that Redis was asked to write, synced or not. Of snapshots, Redis loads the
// last. The harness calls KillRedis in a step of its own ([World.At]), and its event lists what is changed
// back. Every connection is lost, with the keys that it WATCHes, and Redis has no scripts.
func (w *World) KillRedis() {
	s := find[*redisServer](w.servers)
	s.savePoint()
	cut := w.Now()
	if w.cfg.RedisDisk == DiskRDB {
		cut = s.syncedUntil()
	}
	s.die(cut, false)
}

// LosePowerRedis does the same as [World.KillRedis], but also loses writes that were not on the disk: of
// those since the last sync, the ones within the last lag. Without a lag it loses all of them. A redis-server
// finds an append-only file that ends in the middle of a command.
func (w *World) LosePowerRedis(lag time.Duration) {
	s := find[*redisServer](w.servers)
	s.savePoint()
	cut := s.syncedUntil()
	if lag > 0 && w.cfg.RedisDisk != DiskRDB {
		cut = max(cut, w.Now()-lag)
	}
	s.die(cut, true)
}

// die ends Redis, and starts it again with what it held at an instant. A redis-server reports what it has
// loaded.
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
	if torn || s.world.cfg.RedisDisk == DiskRDB { // after a kill, unsynced writes are still unsynced
		s.unlagged = nil
		s.sync()
	}
}

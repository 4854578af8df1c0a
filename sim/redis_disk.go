package sim

import "time"

// Values of [Config.RedisDisk]: what Redis keeps on its disk.
const (
	DiskAlways   = "always"   // an append-only file, synced before each answer (appendfsync always)
	DiskEverySec = "everysec" // one that is synced at each full second of the world's time
	DiskNo       = "no"       // one that the kernel syncs, at each half minute (Redis documentation, "Redis persistence")
	DiskRDB      = "rdb"      // snapshots alone, at Redis's default save points
)

// savePoints are Redis's defaults: a snapshot is due when the last one is that old and there were that many
// changes since.
var savePoints = []struct {
	after   time.Duration
	changes int
}{{time.Hour, 1}, {5 * time.Minute, 100}, {time.Minute, 10_000}}

// kernelSyncs is how often a kernel writes unsynced data to the disk.
const kernelSyncs = 30 * time.Second

// disk is what a world knows of Redis's files.
type disk struct {
	synced  time.Duration // everything written until then is on the disk; under DiskRDB nothing later is
	unsaved int           // changes since then, counted as in a trace; Redis itself also counts a value that is written again
}

// syncedUntil returns the last instant until which everything written is on the disk.
func (s *redisServer) syncedUntil() time.Duration {
	now := s.world.Now()
	switch s.world.cfg.RedisDisk {
	case DiskAlways:
		return now
	case DiskEverySec:
		return max(s.disk.synced, now.Truncate(time.Second))
	case DiskNo:
		return max(s.disk.synced, now.Truncate(kernelSyncs))
	}
	return s.disk.synced
}

// sync brings everything that Redis holds onto its disk.
func (s *redisServer) sync() {
	s.disk = disk{synced: s.world.Now()}
	if s.world.cfg.RedisDisk != "" {
		s.store.sync(s.disk.synced)
	}
}

// savePoint takes a snapshot if one is due. It is called before a change.
func (s *redisServer) savePoint() {
	if s.world.cfg.RedisDisk != DiskRDB {
		return
	}
	for _, p := range savePoints {
		if s.disk.unsaved >= p.changes && s.world.Now() > s.disk.synced+p.after {
			s.sync()
			return
		}
	}
}

// wrote notes changes.
func (s *redisServer) wrote(changes []Change) {
	if len(changes) > 0 {
		s.disk.unsaved += len(changes)
		s.store.wrote(s.world.Now(), changes)
	}
}

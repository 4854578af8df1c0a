package sim

import "time"

// What Redis keeps on its disk ([Config.RedisDisk]).
const (
	DiskAlways   = "always"   // an append-only file, synced before each answer (appendfsync always)
	DiskEverySec = "everysec" // one that is synced at each full second of the world
	DiskNo       = "no"       // one that is left to the kernel, which syncs it at each half minute (Redis documentation, "Redis persistence")
	DiskRDB      = "rdb"      // snapshots alone, by the save points that Redis has by default
)

// savePoints are those of Redis's own configuration: so long after the last snapshot, if there were so many changes since.
var savePoints = []struct {
	after   time.Duration
	changes int
}{{time.Hour, 1}, {5 * time.Minute, 100}, {time.Minute, 10_000}}

// kernelSyncs is how often a kernel writes to the disk what no program has synced.
const kernelSyncs = 30 * time.Second

// disk is what a world knows of Redis's files.
type disk struct {
	synced  time.Duration // what was written until then is on the disk, under DiskRDB nothing later is on it
	unsaved int           // changes since then, as a trace has them: Redis itself counts a value that is written again, too
}

// syncedUntil is the last instant at which all that was written is on the disk.
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

// sync has all that Redis holds be on its disk.
func (s *redisServer) sync() {
	s.disk = disk{synced: s.world.Now()}
	if s.world.cfg.RedisDisk != "" {
		s.store.sync(s.disk.synced)
	}
}

// savePoint takes a snapshot, if one is due. It is called before anything changes.
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

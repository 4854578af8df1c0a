package campaign

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of N consecutive parts of a campaign's runs, of about equal length. A run depends only on the
// campaign and the run's number, so any machine may do it. [Merge] puts the parts together.
type Shard struct {
	K int `json:"k"` // which shard, from 1
	N int `json:"n"` // how many shards there are
}

// ShardsMax bounds the shards of one campaign.
const ShardsMax = 100_000

// ParseShard parses K/N, such as 3/16.
func ParseShard(text string) (Shard, error) {
	k, n, ok := strings.Cut(text, "/")
	var s Shard
	var errK, errN error
	s.K, errK = strconv.Atoi(k)
	s.N, errN = strconv.Atoi(n)
	if !ok || errK != nil || errN != nil {
		return s, fmt.Errorf("%.60q is not a shard; write K/N, such as 3/16", text)
	}
	return s, s.validate()
}

func (s Shard) validate() error {
	if s.N < 1 || s.N > ShardsMax || s.K < 1 || s.K > s.N {
		return fmt.Errorf("shard %d/%d is out of range; give 1/N to N/N, N from 1 to %d", s.K, s.N, ShardsMax)
	}
	return nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.K, s.N) }

// of returns the shard's runs of a campaign with size runs.
func (s Shard) of(size int) span { return span{size * (s.K - 1) / s.N, size * s.K / s.N} }

// span is a range of runs, from first up to but not including end. If end is endless, it has no end.
type span struct{ first, end int }

const endless = -1

func (s span) has(n int) bool { return n >= s.first && (n < s.end || s.end == endless) }

// size is the number of runs; 0 if there is no end.
func (s span) size() int {
	if s.end == endless {
		return 0
	}
	return s.end - s.first
}

func (s span) String() string {
	switch s.size() {
	case 0:
		return "no run"
	case 1:
		return fmt.Sprintf("run %d", s.first)
	}
	return fmt.Sprintf("runs %d to %d", s.first, s.end-1)
}

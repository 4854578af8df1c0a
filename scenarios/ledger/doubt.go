package ledger

import (
	"math"
	"slices"
	"strings"
)

// Doubted is the chance that is left that a finding is still there which counts as resolved.
const Doubted = 0.01

// Count is how often the campaigns of a kind hit a finding.
type Count struct {
	Campaign string `yaml:"campaign,required"`                 // the kind
	Hits     int    `yaml:"hits" min:"1" max:"1000000000000"`  // of runs
	Plans    int    `yaml:"plans" min:"1" max:"1000000000000"` // that were run while it was there
	Clean    int    `yaml:"clean" min:"0" max:"1000000000000"` // and since it was hit last
}

// Name names the kind as its campaigns are named.
func (c *Count) Name() string { return c.Campaign[:max(0, strings.LastIndexByte(c.Campaign, '-'))] }

// countOf is the count of a kind, which comes into the list if it is not there. The list stays in order.
func countOf(list *[]Count, kind string) *Count {
	i, there := slices.BinarySearchFunc(*list, kind, func(c Count, kind string) int { return strings.Compare(c.Campaign, kind) })
	if !there {
		*list = slices.Insert(*list, i, Count{Campaign: kind})
	}
	return &(*list)[i]
}

// rate is how often a plan hits it.
func (c *Count) rate() float64 { return float64(c.Hits) / float64(max(c.Plans, c.Hits)) }

// Enough is how many clean plans of this kind leave no more than Doubted.
func (c *Count) Enough() int {
	if c.Hits >= c.Plans {
		return 1
	}
	return int(math.Ceil(math.Log(Doubted) / math.Log1p(-c.rate())))
}

// doubt is the chance that all plans were clean since the last hit although the finding is still there.
func doubt(counts []Count) float64 {
	chance := 1.0
	for _, c := range counts {
		chance *= math.Pow(1-c.rate(), float64(c.Clean))
	}
	return chance
}

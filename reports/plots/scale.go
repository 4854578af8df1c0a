package plots

import (
	"fmt"
	"math"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// HeatColours is how many colours a scale has at most. The style sheet names them heat-0 to heat-8; each
// differs from its neighbours in lightness, so that a scale needs no sense of colour.
const HeatColours = 9

// scale sorts numbers into bins with round bounds, each of which has a colour.
type scale struct {
	edges  []float64 // of the bins, ascending; one more than there are bins
	powers bool      // they are of very different size
}

// scaleFor bins the numbers from lo to hi; byPowers if they are of very different size.
func scaleFor(lo, hi float64, byPowers bool) scale {
	switch {
	case !(hi-lo > 1e-4*math.Abs(hi)): // all the same, or none
		return scale{edges: []float64{lo, lo}}
	case byPowers:
		return powerScale(lo, hi)
	}
	for step := distance((hi-lo)/HeatColours, nil); ; step = distance(step*1.3, nil) {
		if math.IsInf(step, 0) { // they are as far apart as numbers can be
			return scale{edges: []float64{lo, hi}}
		}
		first, last := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
		if last-first > HeatColours {
			continue
		}
		var s scale
		for i := first; i <= last; i++ {
			s.edges = append(s.edges, round(i*step))
		}
		return s
	}
}

// powerScale has the powers of ten for bounds, and three times each if there is room.
func powerScale(lo, hi float64) scale {
	first, last := int(math.Floor(math.Log10(lo)+1e-9)), int(math.Ceil(math.Log10(hi)-1e-9))
	every := max(1, (last-first+HeatColours-1)/HeatColours)
	s := scale{powers: true}
	for e := first; ; e += every {
		s.edges = append(s.edges, round(math.Pow10(e)))
		if e >= last {
			return s
		}
		if 2*(last-first) <= HeatColours {
			s.edges = append(s.edges, round(3*math.Pow10(e)))
		}
	}
}

// round takes away what is left of a sum or a power in binary.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(v)))) - 6)
	if unit < 1 {
		return math.Round(v/unit) / math.Round(1/unit)
	}
	return math.Round(v/unit) * unit
}

func (s scale) bins() int { return len(s.edges) - 1 }

// bin is the one that v is in; what lies at a bound is in the upper one, but at the last.
func (s scale) bin(v float64) int {
	for i := 1; i < s.bins(); i++ {
		if v < s.edges[i] {
			return i - 1
		}
	}
	return s.bins() - 1
}

// level is the colour of a bin: bins are spread over all there are.
func (s scale) level(bin int) int {
	if s.bins() == 1 {
		return 0
	}
	return int(math.Round(float64(bin) * (HeatColours - 1) / float64(s.bins()-1)))
}

// swatch is one bin as the page's legend shows it, with its lower bound.
type swatch struct {
	Level int
	From  string
}

// scaleView is a scale as the page's legend shows it.
type scaleView struct {
	Words    string // for those who do not see it
	Swatches []swatch
	Last     string // the upper bound of the last bin
}

func (s scale) view() *scaleView {
	v := &scaleView{Last: s.label(s.bins())}
	for i := range s.bins() {
		v.Swatches = append(v.Swatches, swatch{s.level(i), s.label(i)})
	}
	if s.bins() == 1 && s.edges[0] == s.edges[1] {
		v.Swatches[0].From = ""
		v.Words = "One colour: all are " + v.Last + "."
		return v
	}
	v.Words = fmt.Sprintf("%s colours, from %s to %s.", words.Count(s.bins()), v.Swatches[0].From, v.Last)
	return v
}

// label is a bound with as many decimals as all of them need.
func (s scale) label(edge int) string {
	if s.powers || s.bins() == 1 {
		return words.Number(s.edges[edge])
	}
	span := s.edges[s.bins()] - s.edges[0]
	decimals := 0
	for _, e := range s.edges {
		for decimals < 12 && math.Abs(e-math.Round(e*math.Pow10(decimals))/math.Pow10(decimals)) > 1e-6*span {
			decimals++
		}
	}
	return words.Fixed(s.edges[edge], decimals)
}

package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Past is what is kept of a night: a line of the ledger's file of nights.
type Past struct {
	When
	Keys     []string       `json:"keys"`          // of its campaigns, which tell them from all others
	Ran      map[string]int `json:"ran,omitempty"` // runs of each search that were counted, in this night or before
	Plans    int            `json:"plans"`
	Steps    int            `json:"steps"`
	Virtual  time.Duration  `json:"virtual_ns"`
	Took     time.Duration  `json:"took_ns,omitempty"`  // real time of the campaigns of which it is known
	Timed    int            `json:"timed,omitempty"`    // their plans
	Met      int            `json:"met"`                // of what a campaign can meet: faults that fired, settings that were changed, invariants that were judged, situations that were reached
	Of       int            `json:"of"`                 //
	Never    []string       `json:"never,omitempty"`    // what was not met
	New      int            `json:"new,omitempty"`      // findings
	Back     int            `json:"back,omitempty"`     //
	Ongoing  int            `json:"ongoing,omitempty"`  //
	Resolved int            `json:"resolved,omitempty"` // in this night
}

// key tells the night from all others.
func (p *Past) key() string {
	return fmt.Sprintf("%016x", xxhash.Sum64String(strings.Join(p.Keys, " ")))
}

// nightsMost is how many nights are kept.
const nightsMost = 400

// pastOf sums up a night, but for its findings.
func pastOf(n *Night) Past {
	p := Past{When: When{n.Day, n.Commit}, Keys: n.keys()}
	met := map[string]bool{}
	var names []string
	meet := func(what, name string, times int) {
		name = what + " " + name
		if _, known := met[name]; !known {
			names = append(names, name)
		}
		met[name] = met[name] || times > 0
	}
	for _, c := range n.Campaigns {
		r := c.Result
		p.Plans, p.Steps, p.Virtual = p.Plans+r.Runs, p.Steps+r.Steps, p.Virtual+r.Virtual
		if c.Took > 0 {
			p.Took, p.Timed = p.Took+c.Took, p.Timed+r.Runs
		}
		for _, row := range r.Faults {
			meet("fault", row.Name, row.Exercised)
		}
		for _, row := range r.Settings {
			meet("setting", row.Name, row.Drawn)
		}
		for _, row := range r.Invariants {
			meet(judgedOrReached(row), row.Name, row.Exercised)
		}
	}
	p.Of = len(names)
	for _, name := range names {
		if met[name] {
			p.Met++
		} else {
			p.Never = append(p.Never, name)
		}
	}
	return p
}

func judgedOrReached(row campaign.Coverage) string {
	if row.Kind == string(invariants.Sometimes) {
		return "situation"
	}
	return "invariant"
}

// readPasts reads the file of nights, called path.
func readPasts(path string, data []byte) (list []Past, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		var p Past
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("%s:%d: the line is broken: %s; remove it", path, n, strings.TrimPrefix(err.Error(), "json: "))
		}
		list = append(list, p)
	}
	return list, nil
}

func marshalPasts(list []Past) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, p := range list[max(0, len(list)-nightsMost):] {
		if err := enc.Encode(p); err != nil {
			panic(err) // it has nothing that JSON cannot hold
		}
	}
	return b.Bytes()
}

// Unmet is what campaigns have not met for a while.
type Unmet struct {
	Name   string
	Nights int // in a row, up to the last
}

// UnmetBy lists what the last of the nights has not met, that which was not met for longest first.
func UnmetBy(nights []Past) (list []Unmet) {
	if len(nights) == 0 {
		return nil
	}
	for _, name := range nights[len(nights)-1].Never {
		u := Unmet{Name: name}
		for _, p := range slices.Backward(nights) {
			if !slices.Contains(p.Never, name) {
				break
			}
			u.Nights++
		}
		list = append(list, u)
	}
	slices.SortStableFunc(list, func(a, b Unmet) int { return cmp.Compare(b.Nights, a.Nights) })
	return list
}

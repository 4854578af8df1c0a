package model

// Series is one series of a counter: its name, and the values of the labels that events show, in the order of
// the labels' names.
type Series struct {
	Name   string
	Labels [2]string
}

// Count is how often events show what a series counts for sure, and how often it may also have happened.
type Count struct{ Sure, Maybe int }

// counts is what the schedulers' counters should be, by what the callers of operations were told.
type counts struct {
	Series map[Series]Count

	Crashes         int // of schedulers
	RetriesCutShort int // jobs that these schedulers had in hand
	StaleMaybe      int // handlings whose picks may have met a worker past its TTL
	LockLeft        int // locks whose holders do not know that they have them
}

// Sure counts what has happened.
func (n *counts) Sure(name string, labels ...string) { n.add(Count{Sure: 1}, name, labels) }

// Maybe counts what may have happened; Not takes it back.
func (n *counts) Maybe(name string, labels ...string) { n.add(Count{Maybe: 1}, name, labels) }
func (n *counts) Not(name string, labels ...string)   { n.add(Count{Maybe: -1}, name, labels) }

func (n *counts) add(c Count, name string, labels []string) {
	s := Series{Name: name}
	copy(s.Labels[:], labels)
	if n.Series == nil {
		n.Series = map[Series]Count{}
	}
	n.Series[s] = n.Series[s].And(c)
}

// And is the sum of two counts.
func (c Count) And(d Count) Count { return Count{c.Sure + d.Sure, c.Maybe + d.Maybe} }

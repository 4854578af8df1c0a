package invariants

import (
	"math/bits"
	"time"
)

// StrikeKind is what an injected fault does to a family of operations, to nodes of a role, or to a server. It
// does not describe what the subject did in consequence.
type StrikeKind string

func (k StrikeKind) String() string { return string(k) }

// Vocabulary lists the kinds of strike that a subject can meet, and describes each. There are at most 64.
type Vocabulary []struct {
	Kind StrikeKind
	Says string
}

// Kinds is a set of kinds of strike, by their positions in a vocabulary.
type Kinds uint64

// Set returns the set of those kinds.
func (v Vocabulary) Set(list ...StrikeKind) (set Kinds) {
	for _, k := range list {
		for i := range v {
			if v[i].Kind == k {
				set |= 1 << i
			}
		}
	}
	return set
}

// List lists a set's kinds, in the order of the vocabulary.
func (v Vocabulary) List(set Kinds) (list []StrikeKind) {
	for ; set != 0; set &= set - 1 {
		list = append(list, v[bits.TrailingZeros64(uint64(set))].Kind)
	}
	return list
}

// names lists the names of the set's kinds.
func (v Vocabulary) names(set Kinds) (names []string) {
	for _, k := range v.List(set) {
		names = append(names, k.String())
	}
	return names
}

// Strike is an injected fault that took effect.
type Strike struct {
	Kind  StrikeKind
	Step  int
	From  time.Duration
	Node  string // the node or server that it hit, or the node whose operation it hit
	Job   string // the job whose operation it hit; "" for none
	Phase string // the operation that it hit; "" for a node or a server
	Key   string // the key of the operation
}

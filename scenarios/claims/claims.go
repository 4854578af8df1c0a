package claims

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed claims.tsv
var table string

// Claim is one checkable sentence of a document, in words of our own.
type Claim struct {
	Document string  `json:"document"` // its title
	Part     string  `json:"part"`     // the heading that the sentence stands under
	Says     string  `json:"says"`
	Shown    []Proof `json:"shown,omitempty"`
	Open     string  `json:"open,omitempty"` // why nothing shows it
}

// Proof is something that shows a claim: a Go test; what a scenario comes to; or, beside one of these, the documented
// value of a setting or the labels of a metric.
type Proof struct {
	Kind   Kind   `json:"kind"`
	Of     string `json:"of"`               // the test's file, the scenario, the setting or the metric
	Preset string `json:"preset,omitempty"` // of a scenario
	What   string `json:"what"`             // the test's function, the invariant, the situation, the words, the value or the labels
}

// Kind says what a proof is.
type Kind string

// The kinds of proof.
const (
	Test    Kind = "test"
	Setting Kind = "setting" // has that value in the preset documented
	Metric  Kind = "metric"  // has those labels
	Holds   Kind = "holds"   // a scenario exercises that invariant, and keeps it
	Breaks  Kind = "breaks"  // a scenario breaks it
	Reaches Kind = "reaches" // a scenario reaches that situation
	Tells   Kind = "tells"   // a scenario's story has those words
	Counts  Kind = "counts"  // the schedulers of a scenario have counted so much: METRIC=N
)

// String is the proof as claims.tsv has it.
func (p Proof) String() string {
	switch p.Kind {
	case Test:
		return p.Of + ":" + p.What
	case Setting:
		return "setting " + p.Of + "=" + p.What
	case Metric:
		return strings.TrimSpace("metric " + p.Of + " " + p.What)
	default:
		return p.Of + "/" + p.Preset + " " + string(p.Kind) + " " + p.What
	}
}

// parseProof reads what String writes.
func parseProof(text string) (Proof, error) {
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case first == "setting":
		name, value, ok := strings.Cut(rest, "=")
		if ok {
			return Proof{Kind: Setting, Of: name, What: value}, nil
		}
	case first == "metric":
		name, labels, _ := strings.Cut(rest, " ")
		return Proof{Kind: Metric, Of: name, What: labels}, nil
	case rest == "":
		file, function, ok := strings.Cut(first, ":")
		if ok {
			return Proof{Kind: Test, Of: file, What: function}, nil
		}
	default:
		scenario, preset, ok := strings.Cut(first, "/")
		verb, what, found := strings.Cut(rest, " ")
		kind := Kind(verb)
		if ok && found && slices.Contains([]Kind{Holds, Breaks, Reaches, Tells, Counts}, kind) {
			return Proof{kind, scenario, preset, what}, nil
		}
	}
	return Proof{}, fmt.Errorf("%q is no proof; give file:Test, SCENARIO/PRESET holds|breaks|reaches|tells|counts WHAT, setting NAME=VALUE or metric NAME LABEL", text)
}

// Parse reads a table of claims: of each line the document, the part, the sentence, and its proofs, with semicolons
// between them, or "open: " and the reason.
func Parse(table string) ([]Claim, error) {
	var list []Claim
	for i, line := range strings.Split(strings.TrimSuffix(table, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != 4 {
			return nil, fmt.Errorf("line %d has %d cells, not document, part, claim and proofs", i+1, len(cells))
		}
		c := Claim{Document: cells[0], Part: cells[1], Says: cells[2]}
		if reason, open := strings.CutPrefix(cells[3], "open: "); open {
			c.Open = reason
			list = append(list, c)
			continue
		}
		for _, text := range strings.Split(cells[3], "; ") {
			p, err := parseProof(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			c.Shown = append(c.Shown, p)
		}
		list = append(list, c)
	}
	return list, nil
}

// All are the claims of the documents, in their order.
func All() []Claim {
	list, err := Parse(table)
	if err != nil {
		panic(err) // part of the binary, and tested
	}
	return list
}

// About says whether each of the words stands somewhere in the claim or in what shows it, whatever their case.
func (c Claim) About(words ...string) bool {
	text := strings.ToLower(c.String())
	for _, word := range words {
		if !strings.Contains(text, strings.ToLower(word)) {
			return false
		}
	}
	return true
}

// String is the claim as claims.tsv has it.
func (c Claim) String() string {
	return strings.Join([]string{c.Document, c.Part, c.Says, c.Evidence()}, "\t")
}

// Evidence is what shows the claim, or why nothing does.
func (c Claim) Evidence() string {
	if c.Open != "" {
		return "open: " + c.Open
	}
	texts := make([]string, len(c.Shown))
	for i, p := range c.Shown {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

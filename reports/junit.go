package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

// The elements of a JUnit file, as CI servers read them. There is no time and no host in it, so that
// equal results are equal files.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Out      string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		Failure *junitReason `xml:"failure"`
		Error   *junitReason `xml:"error"`
		Skipped *junitReason `xml:"skipped"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Body    string `xml:",chardata"`
	}
)

// JUnit writes a campaign as JUnit XML: a testcase for each invariant and for each way in which the
// code under test could have gone out of bounds. A broken promise is a failure with its story, its
// plan and the command that replays it; what took the process down is an error; an invariant that no
// run exercised is skipped. A further finding of one invariant has a testcase of its own, by the name of its plan.
func JUnit(w io.Writer, res *campaign.Result) error {
	suite := &junitSuite{Name: "wavetank." + res.Spec.Name}
	told := map[string]bool{}
	for _, c := range res.Invariants {
		if c.Kind == string(invariants.Sometimes) {
			continue
		}
		told[c.Name] = true
		test := junitCase{Name: c.Name}
		switch found := findingsOf(res, c.Name); {
		case len(found) > 0:
			suite.addFound(found, "broken promise")
			continue
		case c.Broken > 0:
			test.Failure = &junitReason{Message: fmt.Sprintf("broken in %s, none of which was examined", words.Counted(c.Broken, "run")), Type: "broken promise"}
		case c.Exercised == 0:
			test.Skipped = &junitReason{Message: fmt.Sprintf("none of %s exercised it", words.Counted(res.Runs, "run"))}
		}
		suite.add(test)
	}
	for _, c := range campaign.Containments() {
		told[string(c)] = true
		if found := findingsOf(res, string(c)); len(found) > 0 {
			suite.addFound(found, outOfBounds)
			continue
		}
		suite.add(junitCase{Name: string(c)})
	}
	for _, f := range res.Findings { // of an invariant that is not listed
		if !told[f.Invariant] {
			told[f.Invariant] = true
			suite.addFound(findingsOf(res, f.Invariant), "broken promise")
		}
	}
	suite.Out = strings.Join(campaignWords(res), "\n") + "\n"
	return suite.write(w)
}

// JUnitRun writes one run as JUnit XML: a testcase for each invariant, and one that asks whether the
// run was conclusive.
func JUnitRun(w io.Writer, res *scenarios.Result) error {
	suite := &junitSuite{Name: "wavetank." + res.Scenario}
	for _, i := range res.Invariants {
		if i.Kind == string(invariants.Sometimes) {
			continue
		}
		test := junitCase{Name: i.Name}
		switch i.Status {
		case scenarios.StatusViolated:
			test.Failure = &junitReason{Message: clip(res.Reason), Type: "broken promise", Body: violationsOf(res, i.Name)}
		case scenarios.StatusNotExercised:
			test.Skipped = &junitReason{Message: whyIdle(res, &i)}
		case scenarios.StatusNotJudged:
			test.Skipped = &junitReason{Message: "it is not judged where what it needs was violated before: " + strings.Join(i.StoppedBy, ", ")}
		}
		suite.add(test)
	}
	conclusive := junitCase{Name: "run-is-conclusive"}
	if res.Verdict == scenarios.Inconclusive {
		conclusive.Error = &junitReason{Message: clip(res.Reason), Type: "inconclusive", Body: "Replay: " + res.Replay + "\n"}
	}
	suite.add(conclusive)
	suite.Out = fmt.Sprintf("%s: %s\nReplay: %s\n", res.Verdict, res.Reason, res.Replay)
	return suite.write(w)
}

// JUnitTriage writes how the findings of a ledger stand after a night as JUnit XML: a testcase for each. One that is new or back
// is a failure, one that goes on is skipped, as it is known, and one that is gone has passed.
func JUnitTriage(w io.Writer, r *ledger.Report) error {
	suite := &junitSuite{Name: "wavetank.ledger"}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		test := junitCase{Name: o.Name()}
		switch {
		case o.Alarming():
			test.Failure = reasonOf(o.Seen.Finding, string(o.State))
		case o.State == ledger.Ongoing:
			test.Skipped = &junitReason{Message: "known: " + clip(o.Cause) + ". " + Standing(o)}
		}
		suite.add(test)
	}
	if r.Unexamined > 0 {
		suite.add(junitCase{Name: "every-broken-promise-is-examined", Failure: &junitReason{Message: words.Counted(r.Unexamined, "run") + " broke a promise and were not examined", Type: "not examined"}})
	}
	return suite.write(w)
}

func (s *junitSuite) add(c junitCase) {
	c.Class = s.Name
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) write(w io.Writer) error {
	data, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{*s}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, visible.Text(xml.Header+string(data)+"\n"))
	return err
}

func findingsOf(res *campaign.Result, invariant string) (found []*campaign.Finding) {
	for i := range res.Findings {
		if res.Findings[i].Invariant == invariant {
			found = append(found, &res.Findings[i])
		}
	}
	return found
}

// outOfBounds is the kind of what took a process down, which is an error.
const outOfBounds = "out of bounds"

// addFound adds the findings of one invariant. The first bears the invariant's name, so that a CI server sees the test
// fail that held before.
func (s *junitSuite) addFound(found []*campaign.Finding, kind string) {
	shown, left := words.Capped(found, findingsMax)
	for i, f := range shown {
		test, reason := junitCase{Name: f.Invariant}, reasonOf(f, kind)
		if i > 0 {
			test.Name = strings.TrimSuffix(path.Base(f.File), path.Ext(f.File))
		}
		if i == len(shown)-1 && left > 0 {
			reason.Body += "\n" + words.Counted(left, "more finding") + " left out; result.json has them all.\n"
		}
		if kind == outOfBounds {
			test.Error = reason
		} else {
			test.Failure = reason
		}
		s.add(test)
	}
}

func reasonOf(f *campaign.Finding, kind string) *junitReason {
	body := fmt.Sprintf("%s\n%sPlan: %s\nReplay, in the campaign's folder: %s\n", clipStory(f), causeOf(f), f.File, f.Replay)
	if f.Flaky {
		kind = "not deterministic"
		body += "The same plan gave another run when it was repeated.\n"
	}
	if detail, more := beginning(f.Detail, stackMax); detail != "" {
		body += "\n" + detail
		if more > 0 {
			body += fmt.Sprintf("\n(%s left out)\n", words.Counted(more, "more byte"))
		}
	}
	return &junitReason{Message: clipStory(f), Type: kind, Body: body}
}

func violationsOf(res *scenarios.Result, invariant string) string {
	var b strings.Builder
	n := 0
	for _, v := range res.Violations {
		if v.Invariant != invariant || !v.Promised {
			continue
		}
		if n++; n <= violationsMax {
			fmt.Fprintf(&b, "step %d, at %s: %s\n", v.Step, words.Instant(v.At), clip(v.Message))
		}
	}
	if left := max(0, n-violationsMax) + res.Invariant(invariant).Unlisted; left > 0 {
		fmt.Fprintf(&b, "%s left out.\n", words.Counted(left, "more violation"))
	}
	fmt.Fprintf(&b, "Replay: %s\n", res.Replay)
	return b.String()
}

// campaignWords are the outcome of a campaign and what it never met, a line each.
func campaignWords(res *campaign.Result) []string {
	_, says := campaignVerdict(res)
	words := append([]string{says}, campaignWarnings(res)...)
	c := coverageOf(res)
	for _, m := range []missing{c.NeverJudged, c.NeverReached, c.NeverDrawn, c.NeverFired, c.NeverSet} {
		if len(m.Names) > 0 {
			words = append(words, m.What+" "+strings.Join(m.all(), ", "))
		}
	}
	return append(words, fmt.Sprintf("Seed %d, digest %s", res.Spec.Seed, res.Digest))
}

// all are the names, with a word for those that are left out.
func (m missing) all() []string {
	if m.Left > 0 {
		return append(slices.Clip(m.Names), fmt.Sprintf("%s more", words.Count(m.Left)))
	}
	return m.Names
}

package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
)

// lostAck is a finding that hit so many plans.
func lostAck(runs int) campaign.Finding {
	return campaign.Finding{
		Invariant: "one-dispatch-per-job", Cause: "fail-after publish", Kinds: []string{"fail-after publish"}, Operations: []string{"publish"},
		Blamed: []string{"engine.epochs=false"}, Verdict: scenarios.Violated, Runs: runs, File: "findings/one-dispatch-per-job-1a2b3c4d.yaml",
		Story: "At 2s the publish of job-1 was applied, and its caller was told of an error. At 3s one-dispatch-per-job is broken: at step 59, <b>a second dispatch</b>.",
		Why:   "The violation needs fail-after on publish of job 1.",
		Plan:  "version: 1\nname: one-dispatch-per-job-1a2b3c4d\nfaults:\n  - on: {job: 1, phase: publish}\n    do: fail-after\n",
	}
}

// triagedNight is a night of a thousand plans, entered in the ledger.
func triagedNight(t *testing.T, l *ledger.Ledger, day int, found ...campaign.Finding) *ledger.Report {
	r, err := l.Triage(&ledger.Night{Day: fmt.Sprintf("2026-11-%02d", day), Commit: fmt.Sprintf("c0ffee%d", day), Campaigns: []ledger.Campaign{{
		Dir: "runs/nightly", Took: 50 * time.Second,
		Result: &campaign.Result{
			Spec: campaign.Spec{Name: "fuzz", Seed: uint64(day), Drawn: &campaign.Drawn{}}, Runs: 1000, Digest: fmt.Sprint(day), Findings: found,
			Faults: []campaign.Coverage{{Name: "fail-after publish", Exercised: 1}, {Name: "late ack", Exercised: 1 - day%2}},
		},
	}}})
	require.NoError(t, err)
	return r
}

func issueText(t *testing.T, l *ledger.Ledger, r *ledger.Report) string {
	var b bytes.Buffer
	o := &r.Outcomes[0]
	require.NoError(t, Issue(&b, r, o, l.Path(o.Entry), "https://ci.example/run/7"))
	return b.String()
}

func TestAnIssueTellsTheStoryThePlanTheCommandAndThePage(t *testing.T) {
	l := &ledger.Ledger{Dir: "scenarios/ledger"}
	triagedNight(t, l, 1)
	r := triagedNight(t, l, 2, lostAck(20))
	assert.Equal(t, "one-dispatch-per-job-db8d6630: fail-after publish", IssueTitle(r.Outcomes[0].Entry))
	assert.Equal(t, strings.ReplaceAll(`A night found a way to break 'one-dispatch-per-job': fail-after publish.

> At 2s the publish of job-1 was applied, and its caller was told of an error. At 3s one-dispatch-per-job is broken: at step 59, &lt;b&gt;a second dispatch&lt;/b&gt;.

The violation needs fail-after on publish of job 1.

It was hit by 20 of 1,000 plans of fuzz.

To replay it at 'c0ffee2', with the ledger's file of it or the plan below:

'''sh
bin/wavetank run scenarios/ledger/findings/one-dispatch-per-job-db8d6630.yaml
'''

To find the commit that brought it:

'''sh
bin/wavetank bisect scenarios/ledger/findings/one-dispatch-per-job-db8d6630.yaml c0ffee1 c0ffee2
'''

Its page: 'runs/nightly/findings/one-dispatch-per-job-1a2b3c4d.html', among [the night's files](https://ci.example/run/7).

<details><summary>The smallest plan</summary>

'''yaml
version: 1
name: one-dispatch-per-job-1a2b3c4d
faults:
  - on: {job: 1, phase: publish}
    do: fail-after
'''

</details>

It is known by its invariant, its strikes ('fail-after publish'), the operations that it hangs on ('publish').
`, "'", "`"), strings.ReplaceAll(strings.ReplaceAll(issueText(t, l, r), "ledger's", "ledger`s"), "night's", "night`s"))
}

func TestWhatIsGoneAndWhatIsBackIsSaid(t *testing.T) {
	l := &ledger.Ledger{Dir: "ledger"}
	triagedNight(t, l, 1, lostAck(20))
	gone := issueText(t, l, triagedNight(t, l, 2))
	assert.Equal(t, "Gone. It was not hit by 1,000 plans of fuzz since 2026-11-02. 228 clean plans of fuzz make it 99 % sure that it is gone, as it was hit by 20 of 1,000 plans of fuzz before.\n\n"+
		"The last night that found it was that of 2026-11-01, at `c0ffee1`; the first that did not, of 2026-11-02, at `c0ffee2`.\n", gone)
	r := triagedNight(t, l, 3, lostAck(1))
	assert.Equal(t, ledger.Back, r.Outcomes[0].State)
	back := issueText(t, l, r)
	assert.Contains(t, back, "It is back. A night found again how to break `one-dispatch-per-job`")
	assert.Contains(t, back, "It was hit by 1 of 1,000 plans of fuzz. It was found first on 2026-11-01.")
	assert.Contains(t, back, "bisect ledger/findings/one-dispatch-per-job-db8d6630.yaml c0ffee2 c0ffee3", "it was gone in that commit")
	r.Commit = "c0ffee2"
	assert.NotContains(t, issueText(t, l, r), "wavetank bisect", "there is nothing between equal commits")
}

func TestAFindingOfTheLedgerIsATestcase(t *testing.T) {
	l := &ledger.Ledger{}
	seldom := lostAck(1)
	seldom.Kinds, seldom.Cause = []string{"late publish"}, "late publish"
	triagedNight(t, l, 1, lostAck(20), seldom)
	other := lostAck(3)
	other.Invariant = "every-job-settles"
	r := triagedNight(t, l, 2, other)
	r.Unexamined = 4
	var b bytes.Buffer
	require.NoError(t, JUnitTriage(&b, r))
	xml := b.String()
	assert.Contains(t, xml, `<testsuite name="wavetank.ledger" tests="4" failures="2" errors="0" skipped="1">`)
	assert.Regexp(t, `(?s)name="every-job-settles-[0-9a-f]{8}">\s*<failure message="At 2s.*type="new">`, xml)
	assert.Regexp(t, `name="one-dispatch-per-job-[0-9a-f]{8}">\s*<skipped message="known: late publish. It was not hit by 1,000 plans of fuzz since 2026-11-02. 4,603 clean plans`, xml)
	assert.Regexp(t, `name="one-dispatch-per-job-db8d6630"></testcase>`, xml)
	assert.Contains(t, xml, "4 runs broke a promise and were not examined")
}

func TestThePageOfNights(t *testing.T) {
	page := func(l *ledger.Ledger) string {
		var b bytes.Buffer
		require.NoError(t, NightsPage(&b, l))
		structure(t, b.String())
		assert.NotContains(t, text(b.String()), "NaN")
		return b.String()
	}
	l := &ledger.Ledger{}
	for day, found := range [][]campaign.Finding{1: {}, 2: {lostAck(20)}, 3: {}, 4: {lostAck(2)}, 5: {}} {
		if day > 0 {
			triagedNight(t, l, day, found...)
		}
	}
	html := page(l)
	assert.Contains(t, html, "1 finding in the ledger, of which 0 are not gone.")
	for _, title := range []string{"Plans", "Coverage", "Findings that are not gone", "Speed"} {
		assert.Contains(t, html, "<h3>"+title+"</h3>")
	}
	assert.Contains(t, html, "Speed of each night; 20 on 2026-11-05")
	assert.Contains(t, html, "fault late ack")
	assert.Contains(t, text(html), "2026-11-02")
	assert.Equal(t, html, page(l))

	empty := page(&ledger.Ledger{})
	assert.Contains(t, empty, "It is not known of any night.")
	assert.Contains(t, empty, "Everything was met.")
}

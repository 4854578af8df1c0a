package reports

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
	"github.com/wavetank-sim/wavetank/scenarios/shell"
)

// issuePlanMax is how much of a plan an issue holds.
const issuePlanMax = 16 << 10

// IssueTitle is what an issue about a finding is called. It holds the finding's name, by which it is found again.
func IssueTitle(e *ledger.Entry) string { return fmt.Sprintf("%s: %s", e.Name(), clip(e.Cause)) }

// Issue writes the Markdown of an issue about a new finding, or of a comment on one that is back or gone. file is the ledger's
// file of the finding, artifacts where the night's pages are, or "".
func Issue(w io.Writer, r *ledger.Report, o *ledger.Outcome, file, artifacts string) error {
	var b strings.Builder
	switch {
	case o.State == ledger.Resolved:
		fmt.Fprintf(&b, "Gone. %s\n\nThe last night that found it was that of %s; the first that did not, of %s.\n", markText(Standing(o)), whenIn(o.Last), whenIn(o.Clean))
	case o.Seen == nil:
		fmt.Fprintf(&b, "%s\n", markText(Standing(o)))
	default:
		markSighting(&b, r, o, file, artifacts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markSighting is the Markdown of a finding that a night has found.
func markSighting(b *strings.Builder, r *ledger.Report, o *ledger.Outcome, file, artifacts string) {
	says := "A night found a way to break"
	if o.State == ledger.Back {
		says = "It is back. A night found again how to break"
	}
	fmt.Fprintf(b, "%s %s: %s.\n\n", says, markCode(o.Fingerprint.Invariant), markText(clip(o.Cause)))
	fmt.Fprintf(b, "> %s\n\n", markText(clipStory(o.Seen.Finding)))
	if o.Seen.Why != "" {
		fmt.Fprintf(b, "%s\n\n", markText(o.Seen.Why))
	}
	fmt.Fprintf(b, "%s\n\n", markText(Standing(o)))
	fmt.Fprintf(b, "To replay it%s, with the ledger's file of it or the plan below:\n\n%s\n", atCommit(r.Commit), markBlock("sh", "bin/"+scenarios.RunCommand(scenarios.ProgramName, filepath.ToSlash(file))))
	if good := goodCommit(r, o); good != "" && r.Commit != "" && good != r.Commit { // nights of one commit draw other plans
		fmt.Fprintf(b, "To find the commit that brought it:\n\n%s\n", markBlock("sh", fmt.Sprintf("bin/wavetank bisect %s %s %s", shell.Operand(filepath.ToSlash(file)), good, r.Commit)))
	}
	if o.Seen.Verdict != "" && !o.Seen.Flaky {
		page := markCode(path.Join(filepath.ToSlash(o.Seen.Dir), FindingPage(o.Seen.Finding)))
		if artifacts != "" {
			page = fmt.Sprintf("%s, among [the night's files](%s)", page, artifacts)
		}
		fmt.Fprintf(b, "Its page: %s.\n\n", page)
	}
	if len(o.Alike) > 0 {
		names, left := words.Capped(o.Alike, findingsMax)
		codes := markCodes(names)
		if left > 0 {
			codes = append(codes, words.Counted(left, "more"))
		}
		fmt.Fprintf(b, "It hangs on the same as %s.\n\n", strings.Join(codes, ", "))
	}
	plan, left := beginning(o.Seen.Finding.Plan, issuePlanMax)
	fmt.Fprintf(b, "<details><summary>The smallest plan</summary>\n\n%s", markBlock("yaml", plan))
	if left > 0 {
		fmt.Fprintf(b, "\n%s left out; %s has them.\n", words.Counted(left, "more byte"), markCode(filepath.ToSlash(file)))
	}
	b.WriteString("\n</details>\n")
	if detail, more := beginning(o.Seen.Detail, stackMax); detail != "" {
		fmt.Fprintf(b, "\n<details><summary>Details</summary>\n\n%s", markBlock("", detail))
		if more > 0 {
			fmt.Fprintf(b, "\n%s left out.\n", words.Counted(more, "more byte"))
		}
		b.WriteString("\n</details>\n")
	}
	fmt.Fprintf(b, "\nIt is known by its invariant%s%s.\n", knownBy("its strikes", o.Fingerprint.Strikes), knownBy("the operations that it hangs on", o.Fingerprint.Operations))
}

func knownBy(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s (%s)", what, strings.Join(markCodes(names), ", "))
}

// goodCommit is one before the finding came, as far as the ledger knows.
func goodCommit(r *ledger.Report, o *ledger.Outcome) string {
	if o.State == ledger.Back {
		return o.Clean.Commit
	}
	return r.Before
}

func atCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " at " + markCode(commit)
}

func whenIn(w ledger.When) string {
	if w.Commit == "" {
		return w.Day
	}
	return fmt.Sprintf("%s, at %s", w.Day, markCode(w.Commit))
}

// Standing says in a sentence or two how a finding stands: how often the night hit it, or how sure it is that it is gone.
func Standing(o *ledger.Outcome) string {
	if o.Seen != nil {
		says := fmt.Sprintf("It was hit by %s.", hitBy(o.Seen.Counts))
		if o.State != ledger.New {
			says += fmt.Sprintf(" It was found first on %s.", o.First.Day)
		}
		return says
	}
	var clean, enough []string
	for _, c := range o.Entry.Seen {
		if c.Clean > 0 {
			clean = append(clean, fmt.Sprintf("%s of %s", words.Counted(c.Clean, "plan"), c.Name()))
		}
		enough = append(enough, fmt.Sprintf("%s of %s", words.Counted(c.Enough(), "clean plan"), c.Name()))
	}
	sure := fmt.Sprintf("%s make it 99 %% sure that it is gone, as it was hit by %s before.", strings.Join(enough, ", or "), hitBy(o.Entry.Seen))
	if len(clean) == 0 {
		return "No campaign looked for it as those that found it do, and examined every run that broke its promise. " + sure
	}
	return fmt.Sprintf("It was not hit by %s since %s. %s", invariants.List(clean), o.Clean.Day, sure)
}

// hitBy says how many of how many plans hit a finding.
func hitBy(counts []ledger.Count) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, fmt.Sprintf("%s of %s of %s", words.Count(c.Hits), words.Counted(c.Plans, "plan"), c.Name()))
	}
	return invariants.List(parts)
}

package reports

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
)

// requireChromium is set where no test may leave itself out.
const requireChromium = "WAVETANK_REQUIRE_CHROMIUM"

// picture is a step of the run over time.
const picture chromedp.CSS = ".axis svg circle"

// browser is a Chromium that shows one file, and what it complained of.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	requests   []string
}

// opened shows the page in a Chromium of its own, once that element is there.
func opened(t testing.TB, html string, until chromedp.CSS) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		require.Empty(t, os.Getenv(requireChromium), "there is no chromium")
		t.Skip("there is no chromium, in which the page is tried")
	}
	file := filepath.Join(t.TempDir(), PageFile)
	require.NoError(t, os.WriteFile(file, []byte(html), 0o644))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.complaints = append(b.complaints, "console: "+string(e.Type))
		case *runtime.EventExceptionThrown:
			b.complaints = append(b.complaints, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.complaints = append(b.complaints, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	}))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file), chromedp.WaitVisible(until))
	return b
}

func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	require.NoError(b.t, err)
	return result
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// press presses the button of the picture's with those words, and tick the box.
func (b *browser) press(words string) {
	b.t.Helper()
	b.do(chromedp.Click(`//div[@class="axis-controls"]/button[text()="` + words + `"]`))
}

func (b *browser) tick(words string) {
	b.t.Helper()
	b.do(chromedp.Click(`//div[@class="axis-controls"]/label[contains(., "` + words + `")]/input`))
}

// says evaluates an expression of the page.
func says[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

func (b *browser) steps() int {
	return says[int](b, `document.querySelectorAll(".axis svg circle").length`)
}

func (b *browser) chosen() string {
	return says[string](b, `document.querySelector(".axis-step").innerText`)
}

// quiet checks that the page had nothing to complain of, and asked for nothing but itself.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(b.t, b.complaints)
	assert.Len(b.t, b.requests, 1, "the page alone is asked for")
	assert.Regexp(b.t, `^file://`, b.requests[0])
}

// tabTo goes on by the Tab key until that element has the focus, which can be seen.
func (b *browser) tabTo(element string) {
	b.t.Helper()
	for range 200 { // a page of many jobs has more than a hundred links
		b.do(chromedp.KeyEvent(kb.Tab))
		if says[bool](b, "document.activeElement.matches('"+element+"')") {
			assert.NotEqual(b.t, "none", says[string](b, `getComputedStyle(document.activeElement).outlineStyle`), element)
			return
		}
	}
	require.Fail(b.t, "Tab does not lead there", element)
}

// inSight is where the steps are that the picture shows.
func (b *browser) inSight() string {
	return says[string](b, `[...document.querySelectorAll(".axis svg circle")].map((c) => Math.round(c.cx.baseVal.value)).join(" ")`)
}

// explained is the page of a run that breaks an invariant, with why.
func explained(t *testing.T, scenario string) string {
	t.Helper()
	return pageOfScenario(t, scenario, func(plan *plans.Plan, res *scenarios.Result) {
		var err error
		res.Cause, err = whatif.Explain(t.Context(), plan, whatif.Options{Quick: true})
		require.NoError(t, err)
	})
}

// pageOfScenario is the page of a run, once also has added to its result.
func pageOfScenario(t *testing.T, scenario string, also func(*plans.Plan, *scenarios.Result)) string {
	t.Helper()
	plan, err := plans.Load(scenario)
	require.NoError(t, err)
	var trace, html bytes.Buffer
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: scenario, Trace: &trace})
	require.NoError(t, err)
	also(plan, res)
	require.NoError(t, Page(&html, plan, res, Trace(&trace)))
	return html.String()
}

func TestThePageInABrowser(t *testing.T) {
	b := opened(t, explained(t, "publish-ack-lost"), picture)

	// It begins with how it came to the violation, of the job that it is about.
	assert.Equal(t, "job-3", says[string](b, `document.querySelector(".axis-controls select").selectedOptions[0].text`))
	way := b.steps()
	b.press("All")
	ofJob := b.steps()
	assert.Greater(t, ofJob, way, "All shows more than the way to the violation")
	says[bool](b, `(() => { const s = document.querySelector(".axis-controls select"); s.value = "-1"; return s.dispatchEvent(new Event("change")); })()`)
	all := b.steps()
	assert.Greater(t, all, ofJob, "of all jobs")
	b.press("+")
	assert.Less(t, b.steps(), all, "nearer, there are fewer in sight")
	b.press("All")
	b.tick("Redis")
	assert.Less(t, b.steps(), all, "without what Redis did")
	b.tick("Redis")
	b.tick("even time")
	assert.Equal(t, all, b.steps())
	b.tick("even time")

	// A step is chosen by the keyboard, by a click, and by a link.
	b.press("Why")
	b.do(chromedp.Focus(chromedp.CSS(".axis svg")), chromedp.KeyEvent("n"))
	first := b.chosen()
	assert.Regexp(t, `^Step \d+, `, first)
	b.do(chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent("-"))
	assert.NotEqual(t, first, b.chosen())
	b.do(chromedp.KeyEvent("w"))
	b.clickOn(".axis .step.violation")
	assert.Contains(t, b.chosen(), "one-dispatch-per-job: job-3: second dispatch stored")
	says[string](b, `location.hash = "#axis-125"`)
	b.do(chromedp.WaitVisible(`//h3[starts-with(., "Step 125,")]`))
	said := b.chosen()
	assert.Contains(t, said, "rolls back to SCHEDULED")
	assert.Contains(t, said, "job:job-3 state = SCHEDULED")
	assert.Regexp(t, `The record of job-3 then\s+state=SCHEDULED\s+attempts=2`, said)
	assert.Regexp(t, `Its messages then\s+sys.job.submit \d+: delivered to scheduler-2 at step \d+\s+worker\.worker-1\.jobs 3: stored by scheduler-2 at step 124\s`, said)
	assert.Regexp(t, `What scheduler-2 went by\s+It reads PENDING, at step \d+\.`, said)
	b.do(chromedp.Click(`//div[@class="axis-step"]//a[text()="its row in the lanes"]`))
	assert.Equal(t, "#step-125", says[string](b, "location.hash"))
	b.do(chromedp.Click(`//div[@class="replay"]/button`), chromedp.WaitVisible(`//div[@class="replay"]/button[text()="Copied" or text()="Selected"]`))

	// The verdict leads to the first violation.
	b.do(chromedp.Click(chromedp.CSS("a.jump")))
	assert.Regexp(t, `^#step-\d+$`, says[string](b, "location.hash"))
	assert.True(t, says[bool](b, `(() => { const r = document.querySelector(location.hash + ".violation").getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; })()`), "it is in sight")

	// The plots say their values under the pointer.
	says[bool](b, `(() => { const s = document.querySelector("figure svg.wide"), r = s.getBoundingClientRect(); return s.dispatchEvent(new PointerEvent("pointermove", { clientX: r.x + r.width / 2, clientY: r.y + 60 })); })()`)
	assert.Regexp(t, `^(\d+m[1-5]?\d|[1-5]?\d)(\.\d{1,3})?s\njob-3: 3$`, says[string](b, `document.querySelector(".reading").textContent`))
	assert.Equal(t, "1m13.091s", says[string](b, `instant(73090507)`))
	b.quiet()
}

// In the dark, on a telephone, the picture does the same.
func TestThePictureOnATelephoneInTheDark(t *testing.T) {
	b := opened(t, explained(t, "publish-ack-lost"), picture)
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	b.do(chromedp.EmulateViewport(400, 800))
	light := says[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(246, 247, 248)"`)
	assert.False(t, light)
	assert.LessOrEqual(t, says[int64](b, `Math.round(document.querySelector(".axis svg").getBoundingClientRect().right)`), int64(400))
	b.press("All")
	all := b.steps()
	b.press("+")
	b.press("+")
	assert.Less(t, b.steps(), all, "nearer, there are fewer in sight")
	b.press("Why")
	b.clickOn(".axis .step.violation")
	assert.Contains(t, b.chosen(), "one-dispatch-per-job: job-3: second dispatch stored")
	assert.Equal(t, int64(1), says[int64](b, `document.querySelectorAll(".axis svg .chosen").length`))
	b.do(chromedp.Focus(chromedp.CSS(".axis svg")), chromedp.KeyEvent("n"))
	assert.NotContains(t, b.chosen(), "second dispatch stored")
	b.do(chromedp.Click(chromedp.CSS("a.jump")))
	assert.Regexp(t, `^#step-\d+$`, says[string](b, "location.hash"))
	b.quiet()
}

// However long a word is, no page is wider than the screen for it.
func TestHostileTextFitsTheScreen(t *testing.T) {
	pages := poisonedPages(t, long)
	pages["run"] = poison(long).page()
	for name, html := range pages {
		t.Run(name, func(t *testing.T) {
			b := opened(t, html, "h1")
			for _, width := range []int64{400, 1280} {
				b.do(chromedp.EmulateViewport(width, 900))
				assert.LessOrEqual(t, says[int64](b, "document.scrollingElement.scrollWidth"), width)
			}
			b.quiet()
		})
	}
}

// The head of a column breaks between the words of its settings, and never inside one.
func TestHeadsOfAComparisonBreakBetweenWords(t *testing.T) {
	var list []*sweep.Comparison
	for _, a := range sweep.Comparisons() {
		c := *threeTables()[0]
		c.Name, c.Rows = a.Name, a.Rows
		list = append(list, &c)
	}
	b := opened(t, comparisonHTML(t, list), ".comparison")
	assert.Greater(t, says[int](b, `document.querySelectorAll(".comparison thead code wbr").length`), 100)
	for _, width := range []int64{320, 400, 768, 1280, 1920} {
		b.do(chromedp.EmulateViewport(width, 900))
		assert.Empty(t, says[[]string](b, `[...document.querySelectorAll(".comparison thead code")].flatMap((c) => [...c.childNodes]).filter((n) => n.nodeType === Node.TEXT_NODE)
			.flatMap((n) => [...n.data.matchAll(/[^-]+-?/g)].filter((word) => {
				const range = document.createRange();
				range.setStart(n, word.index);
				range.setEnd(n, word.index + word[0].length);
				return range.getClientRects().length !== 1;
			}).map((word) => word[0]))`), "%d pixels", width)
	}
	b.quiet()
}

// A link stays after the words of the other direction that it stands after.
func TestTextOfTheOtherDirectionMovesNothing(t *testing.T) {
	b := opened(t, pageOfScenario(t, "publish-ack-lost", func(_ *plans.Plan, res *scenarios.Result) {
		for i := range res.Telling {
			res.Telling[i] = "שלום"
		}
	}), picture)
	moved := says[int64](b, `[...document.querySelectorAll(".telling a")].filter((a) => {
		const words = document.createRange();
		words.selectNodeContents(a.previousSibling);
		return a.getBoundingClientRect().left < words.getBoundingClientRect().right - 1;
	}).length`)
	assert.NotZero(t, says[int64](b, `document.querySelectorAll(".telling a").length`))
	assert.Zero(t, moved)
	b.quiet()
}

// Who zooms keeps the chosen step and a time in sight, and what is filtered away is let go. Paper has the whole run.
func TestThePictureKeepsWhatIsChosen(t *testing.T) {
	b := opened(t, pageFor(t, "publish-ack-lost"), picture)
	filter := func(job string) {
		says[bool](b, `(() => { const s = document.querySelector(".axis-controls select"); s.value = [...s.options].find((o) => o.text === "`+job+`").value; return s.dispatchEvent(new Event("change")); })()`)
	}
	seen := func(what string) int64 {
		return says[int64](b, `document.querySelectorAll(".axis svg `+what+`").length`)
	}
	filter("all jobs")
	all := b.steps()
	says[string](b, `location.hash = "#axis-342"`)
	b.do(chromedp.WaitVisible(`//h3[starts-with(., "Step 342,")]`), chromedp.Focus(chromedp.CSS(".axis svg")))
	for range 30 {
		b.do(chromedp.KeyEvent("+"))
		require.Equal(t, int64(1), seen(".chosen"))
		require.NotZero(t, seen(".time"))
	}
	assert.Less(t, b.steps(), 10)
	near := b.inSight()

	b.do(chromedp.KeyEvent("+"))
	assert.Equal(t, near, b.inSight(), "no nearer than two instants")
	says[bool](b, `dispatchEvent(new Event("beforeprint"))`)
	assert.Equal(t, all, b.steps(), "on paper")
	says[bool](b, `dispatchEvent(new Event("afterprint"))`)
	assert.Equal(t, near, b.inSight())
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	assert.NotZero(t, seen(".time"), "between two steps, too")

	filter("job-7")
	assert.Empty(t, b.chosen())
	assert.Empty(t, says[string](b, "location.hash"))
	filter("all jobs")
	says[string](b, `location.hash = "#axis-200"`)
	b.do(chromedp.WaitVisible(`//h3[starts-with(., "Step 200,")]`))
	assert.Regexp(t, `The page has records and messages of job-3 only\. Those of (job-\d+) are in trace\.jsonl, and on the page of a plan with about: \[\d+\]\.`, b.chosen())
	b.quiet()
}

// The picture is the same to those who have a keyboard alone, a mouse, a wheel or a finger, whatever was run.
func TestThePictureIsMovedByAnyMeans(t *testing.T) {
	for _, scenario := range []string{"publish-ack-lost", "breaker-storm", "redis-failover"} {
		t.Run(scenario, func(t *testing.T) {
			if testing.Short() && scenario != "publish-ack-lost" {
				t.Skip("a night moves the pictures of other runs, too")
			}
			b := opened(t, pageOfScenario(t, scenario, func(*plans.Plan, *scenarios.Result) {}), picture)
			byKeysAlone(b)
			byMouse(b)
			byFinger(b)

			// A link leads to a step.
			step := says[string](b, `[...document.querySelectorAll(".axis svg circle title")].at(-1).textContent.match(/^#(\d+) /)[1]`)
			says[string](b, `location.hash = "#axis-`+step+`"`)
			b.do(chromedp.WaitVisible(`//div[@class="axis-step"]/h3[starts-with(., "Step ` + step + `,")]`))
			led := b.chosen()
			b.do(chromedp.KeyEvent("p"))
			assert.NotEqual(t, led, b.chosen(), "the keys are the picture's")
			says[string](b, `location.hash = "#step-1000000"`)
			b.do(chromedp.WaitVisible(`//div[@class="axis-step"]/p[text()="Step 1000000 is not on this page."]`))
			b.quiet()
		})
	}
}

func byKeysAlone(b *browser) {
	b.tabTo(".replay button")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//div[@class="replay"]/button[text()="Copied" or text()="Selected"]`))

	b.tabTo(`.axis-controls [aria-label="Show the whole run"]`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.tabTo(".axis-controls select")
	b.do(chromedp.KeyEvent(kb.End))
	ofOne := b.steps()
	b.do(chromedp.KeyEvent(kb.Home))
	all := b.steps()
	assert.Less(b.t, ofOne, all, "of one job, by the filter")
	b.tabTo(".axis-controls input")
	b.do(chromedp.KeyEvent(" "))
	assert.Less(b.t, b.steps(), all, "without messages")
	b.do(chromedp.KeyEvent(" "))
	assert.Equal(b.t, all, b.steps())

	b.tabTo(".axis svg")
	b.do(chromedp.KeyEvent("n"))
	first := b.chosen()
	assert.Regexp(b.t, `^Step \d+, `, first)
	b.do(chromedp.KeyEvent("n"))
	assert.NotEqual(b.t, first, b.chosen())
	b.do(chromedp.KeyEvent("p"))
	assert.Equal(b.t, first, b.chosen())
	b.do(chromedp.KeyEvent("++"))
	assert.Less(b.t, b.steps(), all)
	near := b.inSight()
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	assert.NotEqual(b.t, near, b.inSight())
	b.do(chromedp.KeyEvent("0"))
	assert.Equal(b.t, all, b.steps())

	b.tabTo("section > .skip")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	assert.True(b.t, says[bool](b, `!!(document.querySelector(".lanes").compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING) && !document.activeElement.closest(".lanes")`), "behind the lanes")
}

// clickOn clicks into the middle of an element of the picture, which is brought into sight.
func (b *browser) clickOn(element string) {
	b.t.Helper()
	at := says[[]float64](b, `(() => { const m = document.querySelector("`+element+`"); m.scrollIntoView({ block: "center" }); const r = m.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// middle is where the picture's is on the screen, which is brought there.
func (b *browser) middle() (x, y float64) {
	at := says[[]float64](b, `(() => { const s = document.querySelector(".axis svg"); s.scrollIntoView({ block: "center" }); const r = s.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	return at[0], at[1]
}

func byMouse(b *browser) {
	x, y := b.middle()
	chosen, whole := b.chosen(), b.inSight()
	wheel := func(dx, dy float64, keys ...chromedp.Modifier) {
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x, y, func(p *input.DispatchMouseEventParams) {
			p.DeltaX, p.DeltaY = cmp.Or(dx, .01), cmp.Or(dy, .01) // a wheel that does not say both is refused
		}, chromedp.ButtonModifiers(keys...)))
	}
	wheel(0, -100, chromedp.ModifierCtrl)
	wheel(0, -100, chromedp.ModifierCtrl)
	wheel(0, -100, chromedp.ModifierCtrl)
	near := b.inSight()
	assert.Less(b.t, len(near), len(whole), "nearer, there are fewer in sight")
	wheel(200, 0)
	assert.NotEqual(b.t, near, b.inSight(), "the wheel moves it")
	wheel(-200, 0)
	assert.Equal(b.t, near, b.inSight())

	b.drag(x, y, -80)
	assert.NotEqual(b.t, near, b.inSight(), "it follows the mouse")
	b.drag(x, y, 80)
	assert.Equal(b.t, near, b.inSight())
	assert.Equal(b.t, chosen, b.chosen(), "who moves it chooses no step")

	says[bool](b, `(() => { addEventListener("wheel", (e) => { window.taken = e.defaultPrevented; }); return true; })()`)
	wheel(0, 50)
	assert.Equal(b.t, near, b.inSight())
	assert.False(b.t, says[bool](b, "window.taken"), "the wheel alone scrolls the page")
}

// drag moves the picture by the mouse.
func (b *browser) drag(x, y, by float64) {
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, x+by/2, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, x+by, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x+by, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

func byFinger(b *browser) {
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	x, y := b.middle()
	before := b.inSight()
	touch := func(what input.DispatchTouchEventType, at ...*input.TouchPoint) {
		call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: what, TouchPoints: append([]*input.TouchPoint{}, at...)})
	}
	touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: x, Y: y})
	for by := 20.0; by <= 80; by += 20 {
		touch(input.DispatchTouchEventTypeTouchMove, &input.TouchPoint{X: x - by, Y: y})
	}
	touch(input.DispatchTouchEventTypeTouchEnd)
	assert.NotEqual(b.t, before, b.inSight(), "it follows the finger")
	b.drag(x, y, 80)
	assert.Equal(b.t, before, b.inSight(), "and all the way")
}

func TestThePageOfManyIsSearchedAndSorted(t *testing.T) {
	b := opened(t, indexHTML(t, shelf()), ".entries td")
	shown := func() string {
		return says[string](b, `[...document.querySelectorAll(".entries tbody tr")].filter((r) => !r.hidden).map((r) => r.cells[0].innerText.split("\n")[0]).join(" ")`)
	}
	all := shown()
	assert.True(t, strings.HasPrefix(all, "fuzz-20261121 publish-ack-lost "), all)
	b.do(chromedp.SendKeys(chromedp.CSS(".finder input"), "ack lost"))
	assert.Equal(t, "publish-ack-lost", shown())
	says[bool](b, `(() => { const i = document.querySelector(".finder input"); i.value = ""; return i.dispatchEvent(new Event("input")); })()`)
	assert.Equal(t, all, shown())
	b.do(chromedp.Click(`//table//button[text()="report"]`))
	assert.Regexp(t, `^\./old/report\.html dispatch order, .* fuzz-7 fuzz-20261121 publish-ack-lost publish-failure stale-worker`, shown(), "numbers by their size")
	assert.Equal(t, "ascending", says[string](b, `document.querySelector(".entries th").getAttribute("aria-sort")`))
	inOrderOf := func(column string) []int64 {
		b.do(chromedp.Click(`//table//button[text()="` + column + `"]`))
		return says[[]int64](b, `[...document.querySelectorAll(".entries tbody td[data-what='`+column+`']")].map((c) => Number(c.dataset.sort))`)
	}
	for _, column := range []string{"runs", "virtual time"} {
		values := inOrderOf(column)
		assert.Greater(t, len(values), 3)
		assert.True(t, slices.IsSorted(values), "%s: %v", column, values)
	}
	b.quiet()
}

// BenchmarkThePageOpens measures how long a browser takes from the file to a page that has drawn its axis.
func BenchmarkThePageOpens(b *testing.B) {
	for _, jobs := range []int{300, 30_000} {
		plan, err := plans.Load("calm")
		require.NoError(b, err)
		plan.Workload.Jobs, plan.Schedule.StepsMax = jobs, plans.StepsMaxDefault(jobs)
		var trace, html bytes.Buffer
		res, err := scenarios.Run(b.Context(), plan, scenarios.RunOptions{Source: plan.Name, Trace: &trace})
		require.NoError(b, err)
		require.NoError(b, Page(&html, plan, res, Trace(&trace)))
		b.Run(fmt.Sprintf("steps=%d", res.Steps), func(b *testing.B) {
			page := opened(b, html.String(), picture)
			ms := 0.0
			for b.Loop() {
				page.do(chromedp.Reload(), chromedp.WaitVisible(picture))
				ms += says[float64](page, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
			}
			b.ReportMetric(ms/float64(b.N), "ms-to-load/op")
			b.ReportMetric(float64(html.Len())/1e6, "MB")
		})
	}
}

func TestOwnNumbersFindTheirRows(t *testing.T) {
	b := opened(t, sweepHTML(t, staleSweep()), ".own input")
	enter := func(setting, value string) {
		says[bool](b, `(() => { const i = document.querySelector('.own [data-setting="`+setting+`"]'); i.value = "`+value+`"; return i.dispatchEvent(new Event("input")); })()`)
	}
	said := func() string { return says[string](b, `document.querySelector(".own output").textContent`) }
	shown := func() int64 {
		return says[int64](b, `[...document.querySelectorAll(".advice tbody tr")].filter((r) => !r.hidden).length`)
	}
	command := func() string {
		return says[string](b, `document.querySelector(".own .ask").hidden ? "" : document.querySelector(".own code").textContent`)
	}
	assert.Equal(t, int64(3), shown())

	enter("world.dying", "30%")
	assert.Equal(t, "Take 4 (not sure): 2.9 % rather than 14 % at 3: -11.1 % [-11.8, -10.4]; 5 cannot be told from it.", said())
	assert.Equal(t, int64(1), shown())
	assert.Empty(t, command(), "it was measured")

	enter("engine.worker_ttl", "45s")
	enter("world.dying", "15%")
	assert.True(t, strings.HasPrefix(said(), "Not measured: TTL 45s (the nearest is 30s); share that dies 15% (the nearest is 0.1). There: Take 5: 1.9 % rather than"), said())
	assert.Equal(t, "hidden", says[string](b, `getComputedStyle(document.querySelector(".advice tbody .badge")).visibility`), "nothing is sure of what was not measured")
	assert.Equal(t, "wavetank sweep stale-worker-retries --ttl=45s --dies=15%", command())

	enter("world.heartbeat_lag", "lognormal:median=5s:p99=30s")
	assert.True(t, strings.HasPrefix(said(), "Not measured: heartbeat lag lognormal:median=5s:p99=30s; TTL 45s"), said())
	assert.Zero(t, shown(), "nothing is near")
	enter("engine.worker_ttl", "abc")
	assert.Equal(t, "TTL abc is no duration, such as 30s.", said())
	assert.Empty(t, command(), "which would be refused")
	assert.Zero(t, shown())
	b.do(chromedp.Click(`//div[@class="own"]//button`))
	assert.Equal(t, int64(3), shown())
	b.quiet()
}

func TestAnOwnNumberMayBeAWholeOne(t *testing.T) {
	res := staleSweep()
	res.Axes[2] = sweep.Axis{Setting: "workload.jobs", Title: "jobs", Values: []string{"10", "20", "30"}, Condition: true}
	for i := range res.Answer.Rows {
		res.Answer.Rows[i].Under = []string{"0s", res.Axes[2].Values[i]}
	}
	b := opened(t, sweepHTML(t, res), ".own input")
	enter := func(value string) string {
		return says[string](b, `(() => { const i = document.querySelector('.own [data-setting="workload.jobs"]'); i.value = "`+value+`"; i.dispatchEvent(new Event("input")); return document.querySelector(".own output").textContent; })()`)
	}
	assert.True(t, strings.HasPrefix(enter("20"), "Take 4 (not sure)"))
	assert.True(t, strings.HasPrefix(enter("24"), "Not measured: jobs 24 (the nearest is 20)."), enter("24"))
	assert.Equal(t, "jobs 20% is no whole number, such as 10.", enter("20%"))
	b.quiet()
}

// A step that is chosen is shown in the plots, and an instant that is pointed at in a plot is shown over the lanes.
func TestPlotsAndThePictureShowTheSameInstant(t *testing.T) {
	b := opened(t, pageFor(t, "publish-ack-lost"), picture)
	hair := func(of string) string {
		return says[string](b, `document.querySelector('`+of+` .hair').getAttribute("visibility")`)
	}
	assert.Equal(t, "hidden", hair("svg[data-plot]"))
	b.do(chromedp.Focus(chromedp.CSS(".axis svg")), chromedp.KeyEvent("0"), chromedp.KeyEvent("n"))
	assert.Equal(t, "visible", hair("svg[data-plot]"))
	where := func() string { return says[string](b, `document.querySelector('.axis svg .hair').getAttribute("x1")`) }
	chosen := where()
	says[bool](b, `(() => { const s = document.querySelector("svg[data-plot]"), r = s.getBoundingClientRect();
		return s.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width / 2, clientY: r.top + r.height / 2 })); })()`)
	assert.Equal(t, "visible", hair(".axis svg"))
	assert.NotEqual(t, chosen, where())
	b.quiet()
}

// Each sentence of Why has its number on the axis, also one that tells of no step, or of one that belongs to no job.
func TestEachSentenceOfWhyIsOnTheAxis(t *testing.T) {
	for _, scenario := range []string{"rollback-failure", "saga-expired-lock", "nats-power-cut", "tenant-limit"} {
		t.Run(scenario, func(t *testing.T) {
			if testing.Short() && scenario != "rollback-failure" && scenario != "nats-power-cut" {
				t.Skip("a night looks at other runs, too")
			}
			b := opened(t, explained(t, scenario), picture)
			var want []string
			for i := range says[int](b, `document.querySelectorAll(".why .telling li").length`) {
				want = append(want, fmt.Sprint(i+1))
			}
			numbers := strings.Split(says[string](b, `[...document.querySelectorAll(".axis .number")].map((n) => n.textContent).join(",")`), ",")
			assert.ElementsMatch(t, want, numbers)
			times := says[[]string](b, `[...document.querySelectorAll(".axis .time")].map((n) => n.textContent)`)
			assert.Len(t, slices.Compact(slices.Clone(times)), len(times), "neighbours differ: %s", times)
			b.quiet()
		})
	}
}

// Where nobody has looked for a Why, there is no button for it, and the picture begins with what the faults did.
func TestThePictureWithoutWhyBeginsWithTheFaults(t *testing.T) {
	b := opened(t, pageFor(t, "rollback-failure"), picture)
	assert.NotContains(t, says[[]string](b, `[...document.querySelectorAll(".axis-controls button")].map((n) => n.textContent)`), "Why")
	assert.Equal(t, int64(2), says[int64](b, `document.querySelectorAll(".axis .step.struck").length`))
	assert.Equal(t, int64(1), says[int64](b, `document.querySelectorAll(".axis .step.violation").length`))
	before := b.inSight()
	b.do(chromedp.Focus(chromedp.CSS(".axis svg")), chromedp.KeyEvent("w"))
	assert.Equal(t, before, b.inSight())
	b.quiet()
}

// Above each quiet stretch stands how long it is, however narrow it is, and no figure stands on another.
func TestEachFoldHasItsFigure(t *testing.T) {
	for _, scenario := range []string{"publish-failure", "hot-worker", "publish-ack-lost"} {
		t.Run(scenario, func(t *testing.T) {
			if testing.Short() && scenario != "publish-failure" {
				t.Skip("a night looks at other runs, too")
			}
			b := opened(t, pageFor(t, scenario), picture)
			b.press("All")
			figures := says[[]string](b, `[...document.querySelectorAll(".axis .gap")].map((n) => n.textContent)`)
			assert.NotEmpty(t, figures)
			if scenario == "publish-failure" {
				assert.Contains(t, figures, "4.1s")
			}
			assert.Empty(t, says[[]string](b, `(() => { const boxes = [...document.querySelectorAll(".axis .gap")].map((n) => [n.textContent, n.getBoundingClientRect()]);
				return boxes.filter(([, r], i) => i > 0 && r.left < boxes[i - 1][1].right).map(([says]) => says); })()`), "no figure stands on another")
			b.quiet()
		})
	}
}

// On one axis all times have the same number of digits, enough for neighbours to differ, as the other pages have them.
func TestTimesOfOneAxis(t *testing.T) {
	b := opened(t, pageFor(t, "publish-failure"), picture)
	for _, list := range [][]time.Duration{
		{2619 * time.Millisecond, 2620 * time.Millisecond, 4 * time.Second}, {time.Second, 2 * time.Second, 3601 * time.Second}, {2016110 * time.Microsecond, 2016240 * time.Microsecond},
		{250 * time.Millisecond, 1250 * time.Millisecond}, {59*time.Second + 999999*time.Microsecond, time.Minute},
	} {
		var us []int64
		for _, at := range list {
			us = append(us, at.Microseconds())
		}
		assert.Equal(t, words.Instants(list), says[[]string](b, strings.ReplaceAll(fmt.Sprintf("instants(%v)", us), " ", ",")))
	}
}

// A plot says under the pointer what stands beside its own lines, in the digits of the tables, and nothing where it has no values.
func TestThePointerReadsAPlotAsItsLegendDoes(t *testing.T) {
	b := opened(t, pageOfScenario(t, "breaker-storm", func(*plans.Plan, *scenarios.Result) {}), "svg[data-plot]")
	under := func(title string, share float64) string {
		return says[string](b, fmt.Sprintf(`(() => { const f = [...document.querySelectorAll("figure")].find((f) => f.querySelector("h3").textContent === %q);
			const s = f.querySelector("svg.wide"), r = s.getBoundingClientRect(), [x0, x1] = s.dataset.plot.split(" ").map(Number);
			s.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width * (x0 + %g * (x1 - x0)) / s.viewBox.baseVal.width, clientY: r.top + 9 }));
			return document.querySelector(".reading").textContent; })()`, title, share))
	}
	assert.NotContains(t, under("Circuit breakers of each replica", .5), "\n", "the instant alone")
	assert.Regexp(t, `\nretries: \d+\nrollbacks: \d+$`, under("Retries and rollbacks, counted up", .9))

	durations := []time.Duration{1500, 12_345_678, 999_600 * time.Microsecond, 3900 * time.Millisecond, 59_960 * time.Millisecond, 605 * time.Second, 90 * time.Minute, 47*time.Hour + 59*time.Minute}
	for _, d := range durations {
		assert.Equal(t, words.Duration(d), says[string](b, fmt.Sprintf("lasting(%g)", d.Seconds())))
	}
	b.quiet()
}

// The two plots of a panel have a legend each, as both begin with the same colour.
func TestThePointerReadsEachPlotOfAPanel(t *testing.T) {
	plan, err := plans.Load("stale-worker")
	require.NoError(t, err)
	var trace, html bytes.Buffer
	res, err := scenarios.Run(t.Context(), plan, scenarios.RunOptions{Source: "stale-worker", Trace: &trace, Sample: true})
	require.NoError(t, err)
	require.NoError(t, Page(&html, plan, res, Trace(&trace)))
	b := opened(t, html.String(), "svg[data-plot]")
	said := func(svg string) string {
		return says[string](b, fmt.Sprintf(`(() => { const s = document.querySelector(%q).closest("figure").querySelector(%q), r = s.getBoundingClientRect();
			s.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width * .9, clientY: r.top + 9 })); return document.querySelector(".reading").textContent; })()`, ".under", svg))
	}
	assert.Regexp(t, `\npicks of stale workers: \d+$`, said("figure > svg.wide"))
	assert.Regexp(t, `\nage: 50th percentile: .+\nage: 90th percentile: .+\nage: oldest: `, said(".under > svg.wide"))
	b.quiet()
}

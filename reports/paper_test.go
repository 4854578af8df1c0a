package reports

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/ledger"
)

// pictures names the folder in which the pages of TestThePagesFitScreensAndPaper are left as pictures, and as printed.
const pictures = "WAVETANK_PICTURES"

// everyKind is a page of each kind.
func everyKind(t *testing.T) map[string]string {
	var certificate exhaust.Certificate
	data, err := os.ReadFile("../scenarios/testdata/certificates/calm-hardened/certificate.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &certificate))
	l := &ledger.Ledger{}
	for day, found := range [][]campaign.Finding{{lostAck(20)}, {}, {lostAck(2)}, {}} {
		triagedNight(t, l, day+1, found...)
	}
	return map[string]string{
		"run":        explained(t, "breaker-storm"),
		"outside":    pageFor(t, "stale-worker"), // the longest words to jump by
		"sweep":      sweepHTML(t, staleSweep()),
		"comparison": comparisonHTML(t, threeTables()),
		"index":      indexHTML(t, shelf()),
		"campaign":   campaignHTML(t, badNight()),
		"fault map":  written(t, func(w io.Writer) error { return FaultMap(w, &certificate) }),
		"power":      written(t, func(w io.Writer) error { return PowerPage(w, fourMutants()) }),
		"nights":     written(t, func(w io.Writer) error { return NightsPage(w, l) }),
		"difference": differenceHTML(t, twoRuns(), "no"),
		"promises":   written(t, PromisesPage),
	}
}

// cutOff are the elements that show a part of what is in them alone, where nobody scrolls. One for screen readers shows nothing.
const cutOff = `[...document.querySelectorAll("body *:not(.sr)")]
	.filter((e) => getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1)
	.map((e) => e.outerHTML.slice(0, 80) + ": " + e.scrollWidth + " of " + e.clientWidth)`

// No page is wider than a screen. Nor is it wider than paper, on which nobody scrolls.
func TestThePagesFitScreensAndPaper(t *testing.T) {
	folder := os.Getenv(pictures)
	for name, html := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			b := opened(t, html, "h1")
			keep := func(file string, of chromedp.Action[[]byte]) {
				data, err := chromedp.Run(b.ctx, of)
				require.NoError(t, err)
				assert.NotEmpty(t, data)
				if folder != "" {
					require.NoError(t, os.WriteFile(filepath.Join(folder, name+"-"+file), data, 0o644))
				}
			}
			widths, papers := []int64{320, 360, 400, 768, 1280, 1920}, map[string]chromedp.PaperSize{"A4": chromedp.PaperA4, "Letter": chromedp.PaperLetter}
			schemes := []string{"light", "dark"}
			if testing.Short() { // the narrowest, one between, and the widest
				widths, schemes = []int64{320, 768, 1920}, schemes[:1]
			}
			for _, scheme := range schemes {
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				for _, width := range widths {
					b.do(chromedp.EmulateViewport(width, 900))
					assert.LessOrEqual(t, says[int64](b, "document.scrollingElement.scrollWidth"), width, "%s, %d pixels", scheme, width)
					if folder != "" {
						keep(scheme+"-"+strconv.FormatInt(width, 10)+".png", chromedp.FullScreenshot(100))
					}
				}
			}
			for paper, size := range papers {
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
				width := int64((size.Width - 0.8) * 96) // 0.4 inches are left on each side
				b.do(chromedp.EmulateViewport(width, 900))
				assert.LessOrEqual(t, says[int64](b, "document.scrollingElement.scrollWidth"), width, paper)
				assert.Empty(t, says[[]string](b, cutOff), paper)
				if name == "run" && paper == "A4" || !testing.Short() { // to print takes seconds
					keep(paper+".pdf", chromedp.PrintToPDF(chromedp.PDFPaper(size)))
				}
			}
			b.quiet()
		})
	}
}

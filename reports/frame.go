package reports

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

// How a page and JUnit's XML begin, by which a file that is replaced is known.
const (
	PageBegins = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\""
	XMLBegins  = "<?xml"
)

var (
	//go:embed template/*.html
	templates embed.FS
	//go:embed template/page.css
	pageCSS string
	//go:embed template/overview.css
	overviewCSS string
	//go:embed template/page.js
	pageJS string
	//go:embed template/plots.js
	plotsJS string
	//go:embed template/index.js
	indexJS string
	//go:embed template/sweep.js
	sweepJS string
	//go:embed template/axis.js
	axisJS string
)

// frame is what every page has around its content.
type frame struct {
	Title  string
	Policy string // lets the page load nothing, from anywhere
	CSS    template.CSS
	JS     template.JS
}

// newFrame is that of a page with those style sheets.
func newFrame(title string, sheets ...string) frame {
	f := frame{Title: title}
	f.run(pageJS)
	for _, sheet := range sheets {
		f.CSS += template.CSS(sheet) // the program's own files
	}
	return f
}

// run makes the script that of the page.
func (f *frame) run(script string) {
	f.Policy, f.JS = policy(script), template.JS(script) // the program's own files
}

// policy is a content security policy under which only the page's own script runs, and nothing is
// ever fetched.
func policy(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// pageTemplateOf reads the template of that name, which may use all of parts.html, when a page first needs it: most
// processes write none.
func pageTemplateOf(name string) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.New(name).Funcs(template.FuncMap{
			"count":   words.Count,
			"counted": words.Counted,
			"pieces":  words.Pieces,
			"data":    data,
		}).ParseFS(templates, "template/"+name, "template/parts.html", "template/machine.html"))
	})
}

// data is what a script of the page reads.
func data(v any) (json.RawMessage, error) {
	document, err := json.Marshal(v)
	return visible.JSON(document), err
}

// execute writes a page whole or, if its template fails, not at all. Whatever its texts hold, nothing turns their direction.
func execute(w io.Writer, page func() *template.Template, view any) error {
	var text strings.Builder
	if err := page().Execute(&text, view); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible.Text(text.String()))
	return err
}

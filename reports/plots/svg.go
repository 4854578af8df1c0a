package plots

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours of the plots. They are names rather than colours: inline replaces each by the variable
// of the page's style sheet, so that one SVG serves light and dark.
var (
	inkColour    = color.RGBA{R: 0x10, G: 0x01, B: 0x01, A: 0xFF}
	gridColour   = color.RGBA{R: 0x10, G: 0x01, B: 0x02, A: 0xFF}
	faintColour  = color.RGBA{R: 0x10, G: 0x01, B: 0x03, A: 0xFF}
	faultColour  = color.RGBA{R: 0x10, G: 0x01, B: 0x04, A: 0xFF}
	bandColour   = color.RGBA{R: 0x10, G: 0x01, B: 0x05, A: 0xFF}
	limitColour  = color.RGBA{R: 0x10, G: 0x01, B: 0x07, A: 0xFF}
	retryColour  = color.RGBA{R: 0x10, G: 0x01, B: 0x08, A: 0xFF}
	backColour   = color.RGBA{R: 0x10, G: 0x01, B: 0x09, A: 0xFF}
	blindColour  = color.RGBA{R: 0x10, G: 0x01, B: 0x0B, A: 0xFF}
	firstColour  = 0x10 // blue channel of the first job's colour; the next ones follow
	colourNames  = colourTable()
	styleOfSVG   = regexp.MustCompile(`style="[^"]*"`)
	colourOfSVG  = regexp.MustCompile(`#[0-9A-F]{6}`)
	fontOfSVG    = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;?`)
	openingOfSVG = regexp.MustCompile(`(?s)^.*?<svg [^>]*>`)
)

// Colours is how many jobs of a run can have a colour of their own.
const Colours = 6

func jobColour(i int) color.RGBA {
	return color.RGBA{R: 0x10, G: 0x02, B: uint8(firstColour + i), A: 0xFF}
}

// intervalColour is that of the band around a line in jobColour.
func intervalColour(i int) color.RGBA {
	return color.RGBA{R: 0x10, G: 0x05, B: uint8(i), A: 0xFF}
}

func colourTable() map[string]string {
	names := map[string]string{}
	name := func(c color.RGBA, variable string) {
		names[fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)] = "var(--" + variable + ")"
	}
	name(inkColour, "ink-2")
	name(gridColour, "grid")
	name(faintColour, "faint")
	name(faultColour, "fault")
	name(bandColour, "band")
	name(limitColour, "bad")
	name(retryColour, "retry")
	name(backColour, "rollback")
	name(blindColour, "blind")
	for i := range Colours {
		name(jobColour(i), fmt.Sprintf("job-%d", i))
		name(intervalColour(i), fmt.Sprintf("band-%d", i))
	}
	return names
}

// size is one rendering of a plot: CSS shows the one that fits the window, so that the text of
// neither is scaled down.
type size struct {
	Class         string
	width, height float64 // CSS pixels at scale 1
	ticks         int     // about how many ticks the time axis has room for
	font          float64
}

var sizes = []size{
	{Class: "wide", width: 1088, height: 250, ticks: 12, font: 12},
	{Class: "narrow", width: 344, height: 230, ticks: 6, font: 12},
}

// newPlot returns a plot in the house's style.
func newPlot(x, y string, s size) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = gridColour
		axis.Width = 1
		axis.Padding = 0
		axis.Label.TextStyle.Color = inkColour
		axis.Label.TextStyle.Font.Variant = "Sans"
		axis.Label.TextStyle.Font.Size = vg.Length(s.font)
		axis.Label.Padding = 4
		axis.Tick.Label.Color = inkColour
		axis.Tick.Label.Font.Variant = "Sans"
		axis.Tick.Label.Font.Size = vg.Length(s.font)
		axis.Tick.Color = gridColour
		axis.Tick.Width = 1
		axis.Tick.Length = 5
	}
	return p
}

// rules are the horizontal lines behind the data.
func rules() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width, grid.Horizontal.Dashes = gridColour, 1, nil
	return grid
}

// render draws p, whose data begins at the same x as that of any plot drawn with the same gutter.
func render(p *plot.Plot, s size, gutter vg.Length, label string) template.HTML {
	canvas := vgsvg.New(vg.Length(s.width), vg.Length(s.height))
	room := draw.Crop(draw.New(canvas), 0, -4, 0, -4)
	p.Draw(draw.Crop(room, gutter-leftOf(p, s), 0, 0, 0))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return inline(out.String(), s, label)
}

// located gives a plot over time, as render drew it, the ranges by which a script says what is under the pointer: the canvas from
// left to right and the end of its time, the canvas from below upwards and the ends of its values, and what these are.
func located(svg template.HTML, p *plot.Plot, s size, gutter vg.Length, reads string) template.HTML {
	room := draw.Crop(draw.New(vgsvg.New(vg.Length(s.width), vg.Length(s.height))), 0, -4, 0, -4)
	c := p.DataCanvas(draw.Crop(room, gutter-leftOf(p, s), 0, 0, 0))
	ranges := fmt.Sprintf(` data-plot="%.5g %.5g %.9g %.5g %.5g %.9g %.9g %s" role=`, c.Min.X, c.Max.X, p.X.Max, c.Min.Y, c.Max.Y, p.Y.Min, p.Y.Max, reads)
	return template.HTML(strings.Replace(string(svg), " role=", ranges, 1)) // numbers
}

// leftOf is where the data of p begins on a canvas of its own.
func leftOf(p *plot.Plot, s size) vg.Length {
	room := draw.Crop(draw.New(vgsvg.New(vg.Length(s.width), vg.Length(s.height))), 0, -4, 0, -4)
	return p.DataCanvas(room).Min.X
}

// inline makes a part of an HTML page of a whole SVG document: no prologue, no size but the view
// box, the page's fonts and colours, and words for those who do not see it.
func inline(document string, s size, label string) template.HTML {
	opening := fmt.Sprintf(`<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s">`, s.Class, s.width, s.height, html.EscapeString(label))
	document = openingOfSVG.ReplaceAllLiteralString(document, opening)
	document = styleOfSVG.ReplaceAllStringFunc(document, func(style string) string {
		style = fontOfSVG.ReplaceAllString(style, "")
		return colourOfSVG.ReplaceAllStringFunc(style, func(c string) string {
			if v, ok := colourNames[c]; ok {
				return v
			}
			return "currentColor"
		})
	})
	document = strings.ReplaceAll(document, "\n\tstyle=", " style=")
	return template.HTML(strings.TrimSpace(document)) // gonum/plot escapes text; the label is escaped above
}

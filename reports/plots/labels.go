package plots

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// frontPoint is one on the Pareto front, or several that cannot be told apart.
type frontPoint struct {
	x, y   float64
	text   string
	colour int
}

// frontLabels names the points of fronts, each where it covers no other label and no other point of
// a front.
type frontLabels struct {
	points []frontPoint
	others plotter.XYs // that a label covers only if it must
	style  draw.TextStyle
	left   int // found no place
}

func (l *frontLabels) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	around := func(x, y float64, radius vg.Length) vg.Rectangle {
		at := vg.Point{X: tx(x), Y: ty(y)}
		return vg.Rectangle{Min: vg.Point{X: at.X - radius, Y: at.Y - radius}, Max: vg.Point{X: at.X + radius, Y: at.Y + radius}}
	}
	var taken, others []vg.Rectangle
	for _, f := range l.points {
		taken = append(taken, around(f.x, f.y, 5))
	}
	for _, o := range l.others {
		others = append(others, around(o.X, o.Y, 3))
	}
	style := l.style
	style.XAlign, style.YAlign = draw.XLeft, draw.YBottom
	l.left = 0
	for i, f := range l.points {
		words := words.Cut(f.text, 40)
		width, height := style.Width(words), style.Font.Size
		at, ok := place(slices.Concat(taken, others), taken[i], width, height, c.Rectangle)
		if !ok {
			at, ok = place(taken, taken[i], width, height, c.Rectangle)
		}
		if !ok {
			l.left++
			continue
		}
		taken = append(taken, at)
		style.Color = jobColour(f.colour)
		c.FillText(style, at.Min, words)
	}
}

// place finds room for a label of that size next to its own mark.
func place(taken []vg.Rectangle, own vg.Rectangle, width, height vg.Length, within vg.Rectangle) (vg.Rectangle, bool) {
	middle := (own.Min.Y + own.Max.Y - height) / 2
	for _, corner := range []vg.Point{
		{X: own.Max.X + 2, Y: own.Max.Y - 3}, {X: own.Max.X + 2, Y: middle}, {X: own.Min.X - width - 2, Y: middle},
		{X: (own.Min.X + own.Max.X - width) / 2, Y: own.Max.Y + 1}, {X: own.Max.X + 2, Y: own.Min.Y - height + 3},
		{X: (own.Min.X + own.Max.X - width) / 2, Y: own.Min.Y - height - 1}, {X: own.Min.X - width - 2, Y: own.Min.Y - height + 3},
		{X: own.Min.X - width - 2, Y: own.Max.Y - 3},
	} {
		box := vg.Rectangle{Min: corner, Max: vg.Point{X: corner.X + width, Y: corner.Y + height}}
		inside := box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y-4 && box.Max.Y <= within.Max.Y+4
		if inside && !slices.ContainsFunc(taken, func(r vg.Rectangle) bool { return overlap(r, box) }) {
			return box, true
		}
	}
	return vg.Rectangle{}, false
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// endLabels name curves at their right ends, moved apart where they would overlap.
type endLabels struct {
	style draw.TextStyle
	at    []endLabel
}

type endLabel struct {
	x, y   float64
	text   string
	colour color.RGBA
}

// width is how much room they take.
func (l endLabels) width() (width vg.Length) {
	for _, e := range l.at {
		width = max(width, wider*l.style.Width(e.text)+8)
	}
	return width
}

func (l endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	_, ty := p.Transforms(&c)
	order := slices.Clone(l.at)
	slices.SortStableFunc(order, func(a, b endLabel) int { return cmp.Compare(a.y, b.y) })
	height := l.style.Font.Size + 1
	at := make([]vg.Length, len(order))
	floor := c.Min.Y
	for i, e := range order {
		at[i] = max(ty(e.y), floor)
		floor = at[i] + height
	}
	ceiling := c.Max.Y
	for i := len(order) - 1; i >= 0; i-- {
		at[i] = min(at[i], ceiling)
		ceiling = at[i] - height
	}
	style := l.style
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	for i, e := range order {
		style.Color = e.colour
		c.FillText(style, vg.Point{X: c.Max.X + 6, Y: at[i]}, e.text)
	}
}

// GlyphBoxes implements [plot.GlyphBoxer]: it keeps room to the right of the data.
func (l endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if len(l.at) == 0 {
		return nil
	}
	return []plot.GlyphBox{{X: 1, Y: .5, Rectangle: vg.Rectangle{Max: vg.Point{X: l.width()}}}}
}

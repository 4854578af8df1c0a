package plots

import (
	"fmt"
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wavetank-sim/wavetank/reports/words"
)

// heatmap is that of one panel: its cells by the first axis, then by the second.
type heatmap struct {
	first, second values
	cells         [][]cell
}

// Heatmaps is the figure of the first measure over the first two axes, one map for each combination
// of the others. All share one scale.
func (p *SweepPlots) Heatmaps(m words.Measure) Figure {
	fig := Figure{Title: m.Heading(), Notes: []string{m.Says}}
	lo, hi, broken, unknown := math.Inf(1), math.Inf(-1), 0, 0
	maps := make([]heatmap, len(p.panels))
	for i, panel := range p.panels {
		h := heatmap{first: p.axes[0], second: p.axes[1]}
		for _, x := range h.first.Values {
			row := make([]cell, len(h.second.Values))
			for j, y := range h.second.Values {
				c := cellOf(p.points.find(append([]string{x, y}, panel.rest...)...), m)
				row[j] = c
				switch {
				case !c.known:
					unknown++
				case !c.sound:
					broken++
				default:
					lo, hi = min(lo, c.value), max(hi, c.value)
				}
			}
			h.cells = append(h.cells, row)
		}
		maps[i] = h
	}
	if math.IsInf(lo, 1) {
		lo, hi = 0, 0
	}
	powers := m.ByPowers(lo, hi)
	if !powers && lo > 0 && lo < hi/2 {
		lo = 0
	}
	bins := scaleFor(lo, hi, powers)
	fig.Scale = bins.view(m)
	if broken > 0 {
		fig.Legend = append(fig.Legend, LegendEntry{"hatch", "hatch", "a promise was broken there: out of the question"})
	}
	if unknown > 0 {
		fig.Legend = append(fig.Legend, LegendEntry{"blank", "card", "not measured"})
	}
	for _, h := range maps {
		for _, row := range h.cells {
			for j := range row {
				row[j].level = bins.level(bins.bin(row[j].value))
			}
		}
	}
	lettered := true
	drawn := func(i int, s size) template.HTML {
		svg, ok := maps[i].draw(s, maps, fmt.Sprintf("%s by %s and %s%s.", m.Heading(), p.axes[0].title(), p.axes[1].title(), within(p.panels[i])))
		lettered = lettered && ok
		return svg
	}
	fig.addPanels(p.panels, drawn)
	if !lettered {
		fig.Notes = append(fig.Notes, "Where a cell is too small for its value, the table of points has it.")
	}
	fig.leftOut(p.panelsLeft, "more map")
	return fig
}

// turned has the axes the other way round.
func (h heatmap) turned() heatmap {
	t := heatmap{first: h.second, second: h.first, cells: make([][]cell, len(h.second.Values))}
	for j := range t.cells {
		for i := range h.cells {
			t.cells[j] = append(t.cells[j], h.cells[i][j])
		}
	}
	return t
}

// draw draws the map in that size, its first axis along the longer side that the size has room for.
// lettered says whether every cell has room for its value, as it has in all maps or in none.
func (h heatmap) draw(s size, all []heatmap, label string) (svg template.HTML, lettered bool) {
	if room := s.width / float64(len(h.first.Values)); room < 34 && len(h.second.Values) < len(h.first.Values) {
		h = h.turned()
	}
	columns, rows := len(h.first.Values), len(h.second.Values)
	style := newPlot("", "", s).Y.Tick.Label
	gutter := vg.Length(24 + s.font)
	for _, v := range h.second.Values {
		gutter = max(gutter, style.Width(words.Cut(v, labelRunesMax))+vg.Length(24+s.font))
	}
	room := vg.Length(s.width) - gutter - 4
	height := heightOf(rows)
	s.height = float64(rows)*height + 48

	p := newPlot(wrapped(h.first.title(), style, room), wrapped(h.second.title(), style, vg.Length(s.height-10)), s)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Width, axis.Tick.Width, axis.Tick.Length = 0, 0, 0
	}
	p.X.Tick.Marker = valueTicks{even(h.first), style, room, true}
	p.Y.Tick.Marker = valueTicks{even(h.second), style, vg.Length(float64(rows) * height), false}
	cells := heatCells{cells: h.cells, style: style}
	lettered = cells.letter(all, float64(room)/float64(columns)-4, height)
	p.Add(cells)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -.5, float64(columns)-.5, -.5, float64(rows)-.5
	return render(p, s, leftOf(p, s), label), lettered
}

// even is v at equal distances.
func even(v values) values {
	v.at, v.toScale = nil, false
	for i := range v.Values {
		v.at = append(v.at, float64(i))
	}
	return v
}

// heightOf is that of a row, in pixels, of a map that has so many.
func heightOf(rows int) float64 {
	switch {
	case rows <= 4:
		return 38
	case rows <= 12:
		return 30
	case rows <= 30:
		return 18
	}
	return max(3, 600/float64(rows))
}

// heatCells draws the cells of a map: a colour for each sound one, hatching for one where a promise was
// broken, and the value of each.
type heatCells struct {
	cells [][]cell
	style draw.TextStyle
	hide  bool // cells have no room for their values
}

// letter writes the values with as many digits as all cells have room for, if any; all with the same
// number of decimals.
func (h *heatCells) letter(all []heatmap, width, height float64) bool {
	most := 0.0
	for _, other := range all {
		for _, row := range other.cells {
			for _, c := range row {
				most = max(most, math.Abs(c.value))
			}
		}
	}
	for digits := 3; digits > 0; digits-- {
		decimals := 0
		if most > 0 {
			decimals = max(0, digits-1-int(math.Floor(math.Log10(most))))
		}
		for _, size := range []vg.Length{12, 11, 10} {
			h.style.Font.Size = size
			if float64(size)+3 < height && h.fits(all, decimals, vg.Length(width)) {
				for _, row := range h.cells {
					for j := range row {
						row[j].text = lettering(row[j].value, decimals)
					}
				}
				return true
			}
		}
	}
	h.hide = true
	return false
}

func (h *heatCells) fits(all []heatmap, decimals int, width vg.Length) bool {
	for _, other := range all {
		for _, row := range other.cells {
			for _, c := range row {
				if c.known && h.style.Width(lettering(c.value, decimals)) > width {
					return false
				}
			}
		}
	}
	return true
}

// lettering says v with that many decimals, and tells what is little from nothing.
func lettering(v float64, decimals int) string {
	if v == 0 {
		return "0"
	}
	least := math.Pow10(-decimals)
	if v > 0 && v < least/2 {
		return "<" + words.Fixed(least, decimals)
	}
	return words.Fixed(v, decimals)
}

func (h heatCells) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := h.style
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for i, column := range h.cells {
		for j, cell := range column {
			box := vg.Rectangle{
				Min: vg.Point{X: tx(float64(i)-.5) + .75, Y: ty(float64(j)-.5) + .75},
				Max: vg.Point{X: tx(float64(i)+.5) - .75, Y: ty(float64(j)+.5) - .75},
			}
			style.Color = inkColour
			switch {
			case !cell.known:
				outline(c, box, gridColour)
				continue
			case !cell.sound:
				hatch(c, box, draw.LineStyle{Color: hatchColour, Width: 2}, 6)
				outline(c, box, limitColour)
			default:
				fill(c, box, heatColour(cell.level))
				style.Color = heatInkColour(cell.level)
			}
			if !h.hide {
				middle := vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: (box.Min.Y + box.Max.Y) / 2}
				c.FillText(style, middle, cell.text)
			}
		}
	}
}

func outline(c draw.Canvas, box vg.Rectangle, colour color.Color) {
	in := vg.Rectangle{Min: vg.Point{X: box.Min.X + .5, Y: box.Min.Y + .5}, Max: vg.Point{X: box.Max.X - .5, Y: box.Max.Y - .5}}
	c.StrokeLines(draw.LineStyle{Color: colour, Width: 1},
		[]vg.Point{in.Min, {X: in.Max.X, Y: in.Min.Y}, in.Max, {X: in.Min.X, Y: in.Max.Y}, in.Min})
}

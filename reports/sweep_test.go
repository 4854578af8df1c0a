package reports

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

func TestSweepAnswersItsQuestion(t *testing.T) {
	page := sweepHTML(t, staleSweep())
	header, _, _ := strings.Cut(page, "</header>")
	said := text(header)
	for _, want := range []string{
		"How many picks should a dispatch make", "answer Make 5 picks: 1.9 % of the jobs", "heartbeat lag (s) share of workers that die take sure by how much, in jobs sent back, every pick stale",
		"0s 0.1 5 sure 1.9 % rather than 14 % at 3: -12.1 % [-12.8, -11.4] at a price: stale picks per job 0.4", "0s 0.5 – none no difference beyond noise",
		"points 150 each under 20 paired seeds, 1 to 20", "At 2 of 150 points a promise was broken; the answer leaves them out.",
		"heartbeat lag (s), world.heartbeat_lag 0s, 5s, 15s, 25s, 35s",
	} {
		assert.Contains(t, said, want)
	}
	assert.NotContains(t, said, "points fewer", "statistics are a note")
	assert.Contains(t, text(sectionOf(t, page, "notes")), "5 against 3: 12.1 points fewer")
	assert.Contains(t, said, "It was measured with engine.stale_retry_jitter=1s, by default 100ms. Settings to take: engine.max_dispatch_retries=5 engine.stale_retry_jitter=1s")
	assert.Contains(t, said, "An interval in brackets is of a difference.")
	assert.Contains(t, text(sectionOf(t, page, "notes")), "By the mean over all conditions take sure by how much, in jobs sent back, every pick stale 5 sure 1.9 % rather than 2.1 % at 6")
	assert.Contains(t, text(sectionOf(t, page, "notes")), "it is s^m; at m = 3, s = 0.5 that is 12.5 %")
	assert.Contains(t, text(sectionOf(t, page, "notes")), "name: stale-worker-retries")

	silent := flatSweep(2)
	silent.Complete, silent.Seeds = false, 1
	said = text(sweepHTML(t, silent))
	assert.Contains(t, said, "no answer, cut short The numbers do not answer the question.")
	assert.Contains(t, said, "The sweep was stopped before")
	assert.Contains(t, said, "under one seed, so there are no intervals")
}

func TestTheMapHasATableForEachValueOfTheThirdAxis(t *testing.T) {
	res := staleSweep()
	for i := range res.Points {
		res.Points[i].Worst = &sweep.Worst{Seed: 7, Says: "the worst run, seed 7: it is slow", File: "runs/point-" + strconv.Itoa(i+1) + "-seed-7"}
	}
	section := sectionOf(t, sweepHTML(t, res), "map")
	assert.Equal(t, 3, strings.Count(section, "<table "))
	assert.NotContains(t, section, "<svg ")
	said := text(section)
	for _, want := range []string{
		"Jobs sent back, every pick stale (%)", "struck out: a promise was broken there", "share of workers that die: 0.5",
		"picks of a dispatch", "heartbeat lag (s)", " 47.5 44.5 to 50.5 ", " 35s ", " 0 10 20 30 40 50 ",
	} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, section, `class="h8"`)
	assert.Contains(t, section, `<a href="runs/point-1-seed-7.html">`)
	assert.Contains(t, section, `title="the worst run, seed 7: it is slow"`)
	assert.Equal(t, 2, strings.Count(section, "<s>"), "cells where a promise was broken")
	assert.Contains(t, section, `class="struck" title="no-dispatch-to-expired-worker in 3 of 20 runs"`)
	assert.Equal(t, 2, strings.Count(section, ` taken"`), "of the rows of the answer that have a value to take")

	one := sectionOf(t, sweepHTML(t, flatSweep(4)), "map")
	assert.Equal(t, 4, strings.Count(one, "<td class"), "one axis has one row")
	assert.NotContains(t, one, "<a ", "a sweep without pages has no links")
}

func TestPanelsInPairs(t *testing.T) {
	assert.Contains(t, sweepHTML(t, flatSweep(2, 2, 3, 2)), `<div class="panels pairs">`)
}

func TestPanelsAreCapped(t *testing.T) {
	page := sweepHTML(t, flatSweep(2, 2, 6, 7))
	section := sectionOf(t, page, "map")
	assert.Equal(t, 12, strings.Count(section, "<table "))
	assert.Contains(t, text(section), "30 more maps left out")
	assert.Contains(t, section, "<h4>axis 2: 0, axis 3: 0</h4>")
	assert.Contains(t, section, "<h4>axis 2: 5, axis 3: 6</h4>", "the last is among those that are shown")
	assert.Contains(t, text(sectionOf(t, sweepHTML(t, flatSweep(2, 9)), "curves")), "Of 9 values of axis 1, 6 are drawn")
}

func TestCurvesNameTheirLines(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, staleSweep()), "curves")
	said := text(section)
	for _, want := range []string{"heartbeat lag: 0s 5s 15s 25s 35s 95 % confidence a promise was broken there", "picks of a dispatch", "5 other measures", "Time to dispatch, p99 (s)"} {
		assert.Contains(t, said, want)
	}
	for i := range 5 {
		assert.Contains(t, section, "var(--job-"+strconv.Itoa(i)+")")
		assert.Contains(t, section, "var(--band-"+strconv.Itoa(i)+")")
	}
	before, _, _ := strings.Cut(section, "<details>")
	assert.Equal(t, 2, strings.Count(before, "<figure>"), "what the question and its trade-off are about; the others on demand")
}

func TestUnmeasuredPointsAreLeftOut(t *testing.T) {
	res := flatSweep(3, 2)
	name := res.Metrics[0].Name
	res.Points[0].Estimates = nil
	res.Points[1].Estimates = map[string]sweep.Estimate{name: {Mean: math.NaN(), N: 2}}
	res.Points[2].Estimates = map[string]sweep.Estimate{name: {Mean: 4, Low: math.NaN(), High: math.NaN(), N: 1}}
	res.Points[3].Estimates = map[string]sweep.Estimate{name: {}}
	page := sweepHTML(t, res)
	structure(t, page)
	assert.Contains(t, text(sectionOf(t, page, "map")), "not measured")
	assert.NotContains(t, page, "NaN")
	for i := range res.Points {
		res.Points[i].Estimates = nil
	}
	assert.Contains(t, text(sweepHTML(t, res)), "It was not measured at any point.")
}

func TestFrontsAreThoseOfEachCondition(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, staleSweep()), "front")
	assert.Equal(t, 3, strings.Count(section, "<svg "), "a panel for each share of dying workers")
	said := text(section)
	assert.Contains(t, said, "Stale picks per job against jobs sent back, every pick stale")
	assert.Contains(t, said, "the front at heartbeat lag 0s 5s 15s 25s 35s")
	assert.Contains(t, said, "under the same conditions no other sound one is better")
	assert.Contains(t, said, "Labels of the front are its values of picks of a dispatch.")
	assert.Contains(t, section, "On the front: 1 at 0.025 and 2.5")

	free := staleSweep()
	for i := range free.Axes {
		free.Axes[i].Condition = false
	}
	section = sectionOf(t, sweepHTML(t, free), "front")
	assert.Equal(t, 2, strings.Count(section, "<svg "))
	assert.Contains(t, text(section), "picks of a dispatch · heartbeat lag · share of workers that die")
	assert.Contains(t, text(sectionOf(t, sweepHTML(t, flatSweep(3)), "front")), "no two measures that pull against each other")
}

func TestTableOfPointsIsCapped(t *testing.T) {
	section := sectionOf(t, sweepHTML(t, flatSweep(30, 40)), "points")
	assert.Equal(t, pointsMax+1, strings.Count(section, "<tr"))
	assert.Contains(t, text(section), "700 more points left out; sweep.csv and sweep.json have them all.")
	section = sectionOf(t, sweepHTML(t, staleSweep()), "points")
	assert.Contains(t, text(section), "broken: no-dispatch-to-expired-worker in 3 of 20 runs")
	assert.Contains(t, text(section), "2.50 ± 0.27")
}

func TestSweepCSVReadsBack(t *testing.T) {
	res := staleSweep()
	res.Points[0].Values[0] = `a "quoted", value` + "\n" + "of two lines"
	delete(res.Points[1].Estimates, res.Metrics[0].Name)
	out := written(t, func(w io.Writer) error { return SweepCSV(w, res) })
	assert.Contains(t, out, "\r\n")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(res.Points)*len(res.Metrics))
	assert.Equal(t, []string{"engine.max_dispatch_retries", "world.heartbeat_lag", "world.dying", "runs", "sound", "on_front", "metric", "unit", "n", "mean", "low", "high"}, rows[0])
	assert.Equal(t, []string{"a \"quoted\", value\nof two lines", "0s", "0.1", "20", "true", "true", "stale_exhausted", "%", "20", "2.5", "2.23", "2.77"}, rows[1])
	assert.Equal(t, []string{"0", "", "", ""}, rows[1+len(res.Metrics)][8:], "what was not measured has no number")
	mean, err := strconv.ParseFloat(rows[3][9], 64)
	require.NoError(t, err)
	assert.Equal(t, res.Points[0].Estimates[res.Metrics[2].Name].Mean, mean, "to full precision") // not InDelta
	unsound := 0
	for _, row := range rows[1:] {
		if row[4] == "false" {
			unsound++
		}
	}
	assert.Equal(t, 2*len(res.Metrics), unsound)
}

func TestWriteSweepWritesItsData(t *testing.T) {
	dir, res := t.TempDir(), staleSweep()
	require.NoError(t, WriteSweep(dir, res))
	assert.Equal(t, []string{PageFile, CSVFile, SweepFile}, names(t, dir))
	data, err := os.ReadFile(filepath.Join(dir, SweepFile))
	require.NoError(t, err)
	var back sweep.Result
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, *res, back)
	require.NoError(t, WriteSweep(dir, res), "over those of an earlier sweep")
}

// A plot of a poor sweep must not fall over: gonum/plot panics on ranges that are none.
func TestSweepsOfAnyNumbersAreDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		res := flatSweep(rapid.IntRange(1, 3).Draw(t, "first"), rapid.IntRange(1, 2).Draw(t, "second"))
		res.Metrics = someMetrics()[2:4]
		res.Pareto = sweep.Pareto{X: res.Metrics[0].Name, Y: res.Metrics[1].Name}
		number := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 100), rapid.Float64Range(0, 1e-9), rapid.Float64())
		for i := range res.Points {
			for _, m := range res.Metrics {
				mean := number.Draw(t, "mean")
				res.Points[i].Estimates[m.Name] = sweep.Estimate{Mean: mean, Low: mean - number.Draw(t, "low"), High: mean + number.Draw(t, "high"), N: rapid.IntRange(0, 2).Draw(t, "n")}
			}
			res.Points[i].OnFront = rapid.Bool().Draw(t, "front")
			if rapid.Bool().Draw(t, "broken") {
				res.Points[i].Broken = map[string]int{"x": 1}
			}
		}
		structure(t, sweepHTML(t, res))
	})
}

// Where no point is sound, no cell has a colour, and the page says nothing of colours.
func TestAMapWithoutASoundPointHasNoScale(t *testing.T) {
	res := staleSweep()
	assert.NotNil(t, sweepViewOf(res).Map.Scale)
	for i := range res.Points {
		res.Points[i].Broken = map[string]int{"one-dispatch-per-job": 1}
	}
	page := written(t, func(w io.Writer) error { return SweepPage(w, res) })
	assert.NotContains(t, page, "One colour")
	assert.Contains(t, page, "struck out: a promise was broken there")
}

func TestRowsOfMeansAreCappedWithAWord(t *testing.T) {
	res := staleSweep()
	res.Answer.Means = slices.Repeat(res.Answer.Means, adviceMax+3)
	assert.Contains(t, written(t, func(w io.Writer) error { return SweepPage(w, res) }), "3 more rows left out; sweep.json has them all.")
}

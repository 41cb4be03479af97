package page

import (
	"fmt"
	"strings"

	"anesim/internal/check"
	"anesim/tools/anesim/internal/view"
)

// A Baseline shows the reader of a page how a result differs from a stored baseline.
type Baseline struct {
	File  string
	Cause string // what changed, as a sentence
	Rows  []Difference
	More  int // number of differences without a row
}

// A Difference is a row of a [Baseline]. It describes a part of the model that differs from the
// baseline. Other parts that differ by the same values are listed in Alike.
type Difference struct {
	Where              string
	Only               string   // "new" or "gone" if only one side has the part
	Alike              []string // further places with the same values
	Time, Energy, Sent Values
	Why                []string // other measures, registers and causes
}

// Values holds a quantity as text: Want is its value in the baseline, Got its value now, and Change
// the difference. Values is zero if the quantity does not differ.
type Values struct {
	Want, Got, Change string
	Worse             bool
}

// maxDifferences is the largest number of rows in a comparison.
const maxDifferences = 200

// Compare returns the differences in v for display on a page. The verdict v is the result of a
// comparison with the baseline in the named file. Parts that differ by the same values share a row.
func Compare(file string, v *check.Verdict) *Baseline {
	cause := v.Cause()
	b := &Baseline{File: file, Cause: strings.ToUpper(cause[:1]) + cause[1:] + "."}
	if v.Unknown {
		b.Rows = []Difference{{Where: v.Input, Why: []string{"the baseline has no such entry"}}}
	}
	rows := map[string]int{}
	places := v.Places()
	for i := range places {
		p := &places[i]
		d := Difference{
			Where: p.Where, Only: p.Only(), Time: newValues(p.Measure(check.MeasuredTime)), Energy: newValues(p.Measure(check.MeasuredEnergy)),
			Sent: newValues(p.Measure(check.MeasuredBytes)), Why: listOtherDifferences(p),
		}
		if p.IsTotal() {
			d.Energy = newValues(v.TotalEnergy())
		}
		key := fmt.Sprint(d.Time, d.Energy, d.Sent, d.Why)
		if k, ok := rows[key]; ok && d.Time.Change != "" {
			b.Rows[k].Alike = append(b.Rows[k].Alike, p.Where)
			continue
		}
		if len(b.Rows) == maxDifferences {
			b.More++
			continue
		}
		if i > 0 { // the total never shares a row
			rows[key] = len(b.Rows)
		}
		b.Rows = append(b.Rows, d)
	}
	return b
}

func newValues(d *check.Difference) Values {
	if d == nil {
		return Values{}
	}
	x := Values{Change: view.Change(d.Want, d.Got), Worse: d.Got > d.Want}
	x.Want, x.Got = d.Values()
	return x
}

// listOtherDifferences returns the differences of a place in quantities that have no column. The
// registers and causes that explain differences of the place follow.
func listOtherDifferences(p *check.Place) (list []string) {
	for i := range p.Differences {
		switch d := &p.Differences[i]; {
		case d.Appeared:
			list = append(list, d.What)
		case d.What != check.MeasuredTime && d.What != check.MeasuredEnergy && d.What != check.MeasuredBytes:
			want, got := d.Values()
			list = append(list, fmt.Sprintf("%s %s -> %s (%s)", d.What, want, got, view.Change(d.Want, d.Got)))
		}
	}
	return append(list, p.Why...)
}

package sweep

import (
	"fmt"

	"anesim/bench/report"
)

// A census is the values that each label of a sweep's rows has: of the program and the axes.
type census struct {
	names  []string
	values []map[string]bool
}

// add counts a row.
func (c *census) add(row []string) error {
	for i, v := range c.values {
		if w := row[1+i]; !v[w] {
			if v[w] = true; len(v) > maxValues {
				return fmt.Errorf("more than %d values of %s", maxValues, report.Printable(c.names[i]))
			}
		}
	}
	return nil
}

// points is how many combinations the values have.
func (c *census) points() int {
	n := 1
	for _, v := range c.values {
		if n *= len(v); n > MaxPoints {
			return MaxPoints + 1
		}
	}
	return n
}

// newCensus starts one of a header.
func newCensus(header []string) *census {
	labels := header[1 : len(header)-len(resultColumns)]
	if n := len(labels); labels[n-1] == areaColumn {
		labels = labels[:n-1]
	}
	c := &census{names: labels}
	for range labels {
		c.values = append(c.values, map[string]bool{})
	}
	return c
}

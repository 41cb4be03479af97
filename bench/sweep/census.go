package sweep

import (
	"fmt"

	"anesim/bench/report"
)

// A census collects the distinct values in each label column of a sweep's rows: the program
// and the axes.
type census struct {
	names  []string
	values []map[string]bool
}

// addRow records the labels of a row. It returns an error if a column has too many values.
func (c *census) addRow(row []string) error {
	for i, v := range c.values {
		if w := row[1+i]; !v[w] {
			if v[w] = true; len(v) > maxValues {
				return fmt.Errorf("found more than %d values of %s", maxValues, report.Printable(c.names[i]))
			}
		}
	}
	return nil
}

// countPoints returns the number of combinations of the values, or MaxPoints+1 if there are
// more than MaxPoints.
func (c *census) countPoints() int {
	n := 1
	for _, v := range c.values {
		if n *= len(v); n > MaxPoints {
			return MaxPoints + 1
		}
	}
	return n
}

// newCensus returns an empty census for rows under header.
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

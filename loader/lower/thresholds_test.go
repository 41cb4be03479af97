package lower_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/loader/describe"
	"anesim/loader/internal/golden"
	. "anesim/loader/lower"
)

// TestThresholds holds the sizes at which the form of a layer changes to testdata/thresholds: the
// number of its descriptors, what they do and where their operands are, or that it is refused. The
// input is a layer in words in which one key has a range, as in "conv cin=64 h=8 w=8 cout=1..4096".
// Each line of the output has the first size of a form.
func TestThresholds(t *testing.T) {
	golden.Test(t, "testdata/thresholds/*.txt", func(t *testing.T, c *golden.Case) string {
		key, from, to := findRange(t, c.Input[0])
		form := func(n int) string {
			lines := slices.Clone(c.Input)
			lines[0] = strings.Replace(lines[0], fmt.Sprintf("%s=%d..%d", key, from, to), fmt.Sprintf("%s=%d", key, n), 1)
			return layerForm(t, lines)
		}
		var b strings.Builder
		last := form(from)
		fmt.Fprintf(&b, "%s=%d: %s\n", key, from, last)
		const intervals = 8
		for i := range intervals {
			low, high := from+(to-from)*i/intervals, from+(to-from)*(i+1)/intervals
			for end := form(high); last != end; {
				n := low + 1 // the first size of another form, above low
				for size := high; n < size; {
					if middle := n + (size-n)/2; form(middle) == last {
						n = middle + 1
					} else {
						size = middle
					}
				}
				low, last = n, form(n)
				fmt.Fprintf(&b, "%s=%d: %s\n", key, n, last)
			}
		}
		return b.String()
	})
}

// findRange returns the key of a layer whose value is a range, and the ends of that range.
func findRange(t *testing.T, words string) (key string, from, to int) {
	t.Helper()
	m := regexp.MustCompile(`(\w+)=(\d+)\.\.(\d+)`).FindStringSubmatch(words)
	if m == nil {
		t.Fatalf("%q has no range", words)
	}
	from, _ = strconv.Atoi(m[2])
	to, _ = strconv.Atoi(m[3])
	return m[1], from, to
}

// hideSizes replaces numbers by N, except in "L2".
func hideSizes(text string) string {
	return regexp.MustCompile(`L2|\d+`).ReplaceAllStringFunc(text, func(s string) string {
		if s == "L2" {
			return s
		}
		return "N"
	})
}

// layerForm describes the program of a layer without its sizes. Descriptors that
// follow each other and do the same are described once, and a sequence that repeats is cut short.
func layerForm(t *testing.T, lines []string) string {
	t.Helper()
	l, w := goldenLayer(t, lines)
	w.SizesOnly = true
	c, err := Compile(l, w)
	if err != nil {
		return "refused: " + hideSizes(err.Error())
	}
	p, err := c.Builder.Layout("form")
	if err != nil {
		return "refused: " + hideSizes(err.Error())
	}
	var forms []string
	for d, err := range p.Describe() {
		if err != nil {
			t.Fatal(err)
		}
		form := descriptorForm(d)
		if n := len(forms); n > 0 && strings.TrimPrefix(forms[n-1], "several ") == form {
			forms[n-1] = "several " + form
		} else if k := slices.Index(forms, form); k >= 0 {
			return strings.Join(forms, "; ") + "; and so on"
		} else {
			forms = append(forms, form)
		}
	}
	return strings.Join(forms, "; ")
}

// descriptorForm describes what a descriptor does and where its operands are, without sizes.
func descriptorForm(d *describe.Description) string {
	place := func(text string) string {
		_, where, _ := strings.Cut(text, ", ")
		where, _, _ = strings.Cut(where, " (")
		where, _, _ = strings.Cut(where, " at ")
		return strings.TrimPrefix(where, "the ")
	}
	var from []string
	for _, s := range d.Sources {
		from = append(from, place(s))
	}
	return fmt.Sprintf("%s (%s -> %s)", hideSizes(d.Operation), strings.Join(from, ", "), place(d.Result))
}

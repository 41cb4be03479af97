package lower_test

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/describe"
	"anesim/loader/internal/golden"
	. "anesim/loader/lower"
)

// TestThresholds holds the sizes at which the form of a layer or a network changes to
// testdata/thresholds: the number of its descriptors, what they do and where their operands are, or
// that it is refused. The input has a range instead of a number, as in "conv cin=64 h=8 w=8
// cout=1..4096", perhaps at several places. Each line of the output has the first size of a form.
//
// If the range is that of a memory, l2 or lane, the output starts at its end: each line has the
// fewest bytes for which all registers are the same.
func TestThresholds(t *testing.T) {
	golden.Test(t, "testdata/thresholds/*.txt", func(t *testing.T, c *golden.Case) string {
		key, from, to := findRange(t, c.Input)
		input := func(n int) []string {
			lines := slices.Clone(c.Input)
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], fmt.Sprintf("%d..%d", from, to), strconv.Itoa(n))
			}
			return lines
		}
		form := func(n int) string { return programForm(t, input(n)) }
		var b strings.Builder
		if key == "l2=" || key == "lane=" {
			const lines = 3
			for n, i := to, 0; i < lines && n >= from; i++ {
				text := programText(t, input(n))
				n = from + sort.Search(n-from, func(i int) bool { return programText(t, input(from+i)) == text })
				fmt.Fprintf(&b, "%s%d: %s\n", key, n, form(n))
				n--
			}
			return b.String()
		}
		last := form(from)
		fmt.Fprintf(&b, "%s%d: %s\n", key, from, last)
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
				fmt.Fprintf(&b, "%s%d: %s\n", key, n, last)
			}
		}
		return b.String()
	})
}

// buildInput lowers a layer or a network. Layers have no weights.
func buildInput(t *testing.T, lines []string) (*loader.Builder, error) {
	t.Helper()
	if strings.HasPrefix(lines[0], "chain ") || strings.Contains(lines[0], " = ") {
		j, err := goldenNetwork(t, lines).Join()
		if err != nil {
			return nil, err
		}
		return j.Builder, nil
	}
	l, w := goldenLayer(t, lines)
	w.SizesOnly = true
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder, nil
}

// programText returns the descriptors of a layer or a network as bytes, or why it has none.
func programText(t *testing.T, lines []string) string {
	t.Helper()
	b, err := buildInput(t, lines)
	if err != nil {
		return hideSizes(err.Error())
	}
	return string(regs.EncodeChain(b.Chain))
}

// findRange returns the ends of the range in an input, and the key whose value it is, as in "k=".
func findRange(t *testing.T, lines []string) (key string, from, to int) {
	t.Helper()
	m := regexp.MustCompile(`(\w+=)?(\d+)\.\.(\d+)`).FindStringSubmatch(strings.Join(lines, "\n"))
	if m == nil {
		t.Fatalf("%q has no range", lines)
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

// programForm describes the program of a layer or a network without its sizes. Descriptors that
// follow each other and do the same are described once, and a sequence that repeats is cut short.
func programForm(t *testing.T, lines []string) string {
	t.Helper()
	builder, err := buildInput(t, lines)
	if err != nil {
		return "refused: " + hideSizes(err.Error())
	}
	p, err := builder.Layout("form")
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

package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxChanges is the maximum number of changes that are listed for a case.
const maxChanges = 12

// Changes returns one line for each difference between want and got, the expected and the actual
// lines of an output. Registers are compared field by field, as in "td 1 Common.Cfg.ShPref 3 -> 2".
// Changes lists at most 12 differences. It returns nil if want and got are equal.
func Changes(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	a, b := parseOutput(want), parseOutput(got)
	var list []string
	if a.descriptors != b.descriptors {
		list = append(list, fmt.Sprintf("%d descriptors -> %d", a.descriptors, b.descriptors))
	}
	var changed []change
	for _, key := range a.order {
		if now := b.valueOrBlank(key); now != a.valueOrBlank(key) {
			changed = append(changed, change{key, a.valueOrBlank(key), now})
		}
	}
	for _, key := range b.order {
		if _, ok := a.values[key]; !ok && b.valueOrBlank(key) != a.valueOrBlank(key) {
			changed = append(changed, change{key, a.valueOrBlank(key), b.valueOrBlank(key)})
		}
	}
	list = append(list, formatChanges(changed)...)
	if len(list) == 0 {
		list = append(list, "lines differ in order or form only; run with -rewrite")
	}
	if n := len(list); n > maxChanges {
		list = append(list[:maxChanges:maxChanges], fmt.Sprintf("and %d more changes", n-maxChanges))
	}
	return list
}

// A change is a key whose value differs between two outputs, with both values.
type change struct{ key, from, to string }

// formatChanges returns one line for each change. Equal changes of adjacent registers in an array
// share a line.
func formatChanges(changed []change) (list []string) {
	for i := 0; i < len(changed); {
		c := changed[i]
		base, first, field := splitArrayName(c.key)
		last, end := first, c
		for i++; i < len(changed) && first >= 0; i++ {
			b, n, f := splitArrayName(changed[i].key)
			if b != base || f != field || n != last+1 {
				break
			}
			last, end = n, changed[i]
		}
		switch {
		case last == first:
			list = append(list, fmt.Sprintf("%s %s -> %s", c.key, c.from, c.to))
		case end.from == c.from && end.to == c.to:
			list = append(list, fmt.Sprintf("%s[%d-%d]%s %s -> %s", base, first, last, field, c.from, c.to))
		default:
			list = append(list, fmt.Sprintf("%s[%d-%d]%s %s to %s -> %s to %s", base, first, last, field, c.from, end.from, c.to, end.to))
		}
	}
	return list
}

// splitArrayName splits the key of a register in an array, such as "td 1 G.Base[3].Addr", into "td
// 1 G.Base", 3 and ".Addr". For other keys it returns key, -1 and "".
func splitArrayName(key string) (base string, index int, field string) {
	base, rest, ok := strings.Cut(key, "[")
	number, field, ok2 := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if !ok || !ok2 || err != nil {
		return key, -1, ""
	}
	return base, n, field
}

// An output holds the values of a golden output by key. A key is a register, such as "td 1
// Common.Cfg.ShPref", or the first words of another line.
type output struct {
	order       []string
	values      map[string]string
	descriptors int
}

// valueOrBlank returns the value of a key. A register's field that the output omits has the value
// of a blank descriptor. Any other missing key has the value "nothing".
func (o *output) valueOrBlank(key string) string {
	if v, ok := o.values[key]; ok {
		return v
	}
	if _, field, ok := strings.Cut(key, "td "); ok {
		if td, field, ok := strings.Cut(field, " "); ok && strings.Contains(field, ".") {
			program, _, _ := strings.Cut(key, "td ")
			if _, there := o.values[program+"td "+td+" computes"]; there {
				return blankValue(field)
			}
		}
	}
	return "nothing"
}

// setValue sets the value of a key, and appends a new key to the order.
func (o *output) setValue(key, value string) {
	if _, ok := o.values[key]; !ok {
		o.order = append(o.order, key)
	}
	o.values[key] = value
}

// parseOutput parses the lines of an output.
func parseOutput(lines []string) *output {
	o := &output{values: map[string]string{}}
	program, td, group := "", "", ""
	times := map[string]int{}
	number := func(key string) string { // tells lines with the same beginning apart
		times[key]++
		if n := times[key]; n > 1 {
			return fmt.Sprintf("%s (%d)", key, n)
		}
		return key
	}
	for _, line := range lines {
		words := strings.Fields(line)
		inside := strings.HasPrefix(line, "  ") && td != ""
		switch {
		case strings.HasPrefix(line, "program ") && len(words) > 1:
			program, td = words[0]+" "+strings.TrimSuffix(words[1], ":")+" ", ""
			o.setValue(strings.TrimSpace(program), strings.Join(words[2:], " "))
		case strings.HasPrefix(line, "td ") && len(words) > 2:
			td, group = program+"td "+strings.TrimSuffix(words[1], ":"), ""
			o.descriptors++
			o.setValue(td+" computes", strings.Join(words[2:], " "))
		case inside && words[0] == "like":
			o.copyRegisters(td, program+"td "+words[2])
		case inside && strings.HasPrefix(line, "     ") && group != "":
			o.parseRegisters(td+" "+group, line)
		case inside && strings.HasSuffix(words[0], ":"):
			group = strings.TrimSuffix(words[0], ":")
			o.parseRegisters(td+" "+group, strings.TrimPrefix(strings.TrimSpace(line), words[0]))
		case inside && strings.Contains(words[0], ".") && len(words) > 1: // a line with a single register
			o.parseRegisters(td+" "+strings.SplitN(words[0], ".", 2)[0], stripGroup(line))
		case inside:
			o.setValue(number(td+" "+words[0]), strings.Join(words[1:], " "))
		case strings.Contains(line, " -> ") && !strings.HasPrefix(line, " ") && strings.Contains(words[0], ":"): // a line of a variant
			left, to, _ := strings.Cut(line, " -> ")
			at := strings.LastIndexByte(left, ' ')
			o.setValue(left[:max(0, at)], left[at+1:]+" -> "+to)
		default:
			td, group = "", ""
			n := min(2, len(words)-1)
			o.setValue(number(program+strings.Join(words[:n], " ")), strings.Join(words[n:], " "))
		}
	}
	return o
}

// stripGroup converts a line of one register, "Group.Name Field=value ..." or "Group.Name
// value", to its form in a group.
func stripGroup(line string) string {
	words := strings.Fields(line)
	_, name, _ := strings.Cut(words[0], ".")
	if strings.Contains(words[1], "=") {
		return name + "{" + strings.Join(words[1:], " ") + "}"
	}
	return name + "=" + words[1]
}

// copyRegisters sets the registers of a descriptor to those of another.
func (o *output) copyRegisters(td, other string) {
	for _, key := range slices.Clone(o.order) {
		if field, ok := strings.CutPrefix(key, other+" "); ok && strings.Contains(field, ".") {
			o.setValue(td+" "+field, o.values[key])
		}
	}
}

// parseRegisters parses a line of a group's registers, Name=value or Name{Field=value ...}.
func (o *output) parseRegisters(group, line string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		at := strings.IndexAny(line, "={")
		if at < 0 {
			o.setValue(group, line)
			return
		}
		names := expandNames(line[:at])
		if line[at] == '=' {
			value, rest, _ := strings.Cut(line[at+1:], " ")
			// Expanded, so that a change of the last address alone is reported as one and not as a change
			// of all.
			first, step, stepped := strings.Cut(value, "..+")
			base, _ := strconv.ParseUint(first, 0, 64)
			by, _ := strconv.ParseUint(step, 0, 64)
			for i, name := range names {
				if stepped {
					value = formatHex(base + uint64(i)*by)
				}
				o.setValue(group+"."+name, value)
			}
			line = rest
			continue
		}
		fields, rest, _ := strings.Cut(line[at+1:], "}")
		for _, name := range names {
			for f := range strings.FieldsSeq(fields) {
				field, value, _ := strings.Cut(f, "=")
				o.setValue(group+"."+name+"."+field, value)
			}
		}
		line = rest
	}
}

package check

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/spelling"
)

// columns are the names of the columns of a CSV file with expectations, and of the members of an
// object in JSON. Only measure and value are required.
var columns = []string{"input", "descriptor", "measure", "value", "tolerance"}

// A cell is the text of one column of an expectation with its place.
type cell struct {
	text string
	at   position
}

// newExpectation returns the expectation in a row, a map from column names to cells. The place at
// is for an error about a column that the row lacks.
func newExpectation(row map[string]cell, at position) (Expectation, error) {
	for name, c := range row {
		c.text = strings.TrimSpace(c.text)
		row[name] = c
	}
	x := Expectation{Input: row["input"].text, Part: row["descriptor"].text, Measure: row["measure"].text, part: row["descriptor"].at}
	// Numbers from elsewhere are most often of a whole program, so the column may be missing.
	if x.Part == "" {
		x.Part, x.part = total, at
	}
	for _, name := range []string{"measure", "value"} {
		if c, ok := row[name]; !ok {
			return x, at.errorf("missing %s", name)
		} else if c.text == "" {
			return x, c.at.errorf("missing %s", name)
		}
	}
	if known := listMeasureNames(); !slices.Contains(known, x.Measure) {
		hint := spelling.Suggest(x.Measure, known)
		if hint == "" {
			hint = "; want one of " + strings.Join(known, ", ")
		}
		return x, row["measure"].at.errorf("unknown measure %q%s", x.Measure, hint)
	}
	var err error
	if x.Value, x.rounding, err = parseExpectedValue(row["value"]); err != nil {
		return x, err
	}
	switch c := row["tolerance"]; c.text {
	case "":
	case "<=", ">=":
		x.Bound = c.text
	default:
		number, percent := strings.CutSuffix(c.text, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		// A number without % could mean a fraction or a unit of the measure, so it is refused. The upper
		// bound keeps products with the value finite.
		if !percent || err != nil || !(v >= 0 && v <= 1e6) {
			return x, c.at.errorf("tolerance %q: want a percentage like 2%%, or <= or >=", c.text)
		}
		x.Tolerance = v / 100
	}
	return x, nil
}

var decimal = regexp.MustCompile(`^[0-9]+(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// parseExpectedValue returns the value in c and half a unit of its last digit. That is at most 0.5,
// so that a count must be equal even if it is written as 6e2.
func parseExpectedValue(c cell) (value, rounding float64, err error) {
	parts := decimal.FindStringSubmatch(c.text)
	value, err = strconv.ParseFloat(c.text, 64)
	// No count of a run reaches the limit, and any value below it converts to an integer.
	const most = 1 << 62
	if parts == nil || err != nil || value > most {
		return 0, 0, c.at.errorf("value %q: want a number from 0 to 4e18, like 601 or 1.5e3", c.text)
	}
	exponent, _ := strconv.Atoi(parts[2])
	return value, min(0.5, 0.5*math.Pow10(exponent-len(parts[1]))), nil
}

var inline = regexp.MustCompile(`^\s*([A-Za-z0-9_]+)\s*(?:@(.*?))?\s*(<=|>=|=)([^<>=]*)$`)

// IsInline reports whether text is to be read by [ParseExpectation] instead of being the name of a
// file: it begins with a word, which is followed by one of the characters "@", "<", ">" and "=".
func IsInline(text string) bool {
	rest := strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ \t\n\v\f\r")
	return rest != "" && len(rest) < len(text) && strings.ContainsRune("@<>=", rune(rest[0]))
}

// ParseExpectation parses an expectation like "cycles<=600", "time_ns=590+-2%" or
// "cycles@conv1=600", where the text after "@" is the part of the model. An error is an
// *[ExpectationError].
func ParseExpectation(text string) (Expectation, error) {
	m := inline.FindStringSubmatchIndex(text)
	if m == nil {
		return Expectation{}, position{0, 1}.errorf("%q: want MEASURE[@PART], then <=, >= or =, then a number; for example cycles<=600 or cycles@0=590+-2%%", text)
	}
	row := map[string]cell{}
	for i, name := range []string{"measure", "descriptor", "tolerance", "value"} {
		if start, end := m[2+2*i], m[3+2*i]; start >= 0 {
			row[name] = cell{text[start:end], position{0, start + 1}}
		}
	}
	if part, ok := row["descriptor"]; ok && strings.TrimSpace(part.text) == "" {
		return Expectation{}, part.at.errorf("missing descriptor or layer after @")
	}
	if bound := row["tolerance"]; bound.text == "=" {
		delete(row, "tolerance")
		for _, sign := range []string{"+-", "±"} {
			v := row["value"]
			if number, share, ok := strings.Cut(v.text, sign); ok {
				row["value"] = cell{number, v.at}
				row["tolerance"] = cell{share, position{0, v.at.column + len(number) + len(sign)}}
			}
		}
	}
	return newExpectation(row, position{0, 1})
}

// maxExpectationBytes is the largest size of a file with expectations: about a million rows.
const maxExpectationBytes = 64 << 20

// ReadExpectations reads expectations from CSV or JSON. CSV has a header with the columns measure
// and value, and optionally input, descriptor and tolerance; lines that begin with # are comments.
// JSON is an array of objects with members of these names. An error in the text is an
// *[ExpectationError].
func ReadExpectations(r io.Reader) ([]Expectation, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxExpectationBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxExpectationBytes {
		return nil, position{1, 1}.errorf("file too large; want at most %d bytes", maxExpectationBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // spreadsheets write it
	if start := bytes.TrimSpace(data); len(start) > 0 && (start[0] == '[' || start[0] == '{') {
		return readJSONExpectations(data)
	}
	return readCSVExpectations(data)
}

func readCSVExpectations(data []byte) ([]Expectation, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment, r.TrimLeadingSpace, r.ReuseRecord = '#', true, true
	var names []string
	var list []Expectation
	for {
		record, err := r.Read()
		var syntax *csv.ParseError
		switch {
		case err == io.EOF && names == nil:
			return nil, position{1, 1}.errorf("no header; want the columns %s", strings.Join(columns, ","))
		case err == io.EOF:
			return list, nil
		case errors.As(err, &syntax):
			return nil, position{syntax.Line, syntax.Column}.errorf("%w", syntax.Err)
		case err != nil:
			return nil, err
		}
		at := func(i int) position {
			line, column := r.FieldPos(i)
			return position{line, column}
		}
		if names == nil {
			// An unknown column is refused, not skipped: a misspelled tolerance would pass as exact.
			for i, name := range record {
				name = strings.TrimSpace(name)
				if !slices.Contains(columns, name) {
					return nil, at(i).errorf("unknown column %q; want the columns %s", name, strings.Join(columns, ","))
				}
				if slices.Contains(names, name) {
					return nil, at(i).errorf("duplicate column %q", name)
				}
				names = append(names, name)
			}
			continue
		}
		row := make(map[string]cell, len(names))
		for i, text := range record {
			row[names[i]] = cell{text, at(i)}
		}
		x, err := newExpectation(row, at(0))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
}

// readJSONExpectations reads the tokens of an array of objects one by one, because only then is the
// place of a wrong value known.
func readJSONExpectations(data []byte) ([]Expectation, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	// The line of an offset is counted from the place before, so that a file is searched once.
	line, start, counted := 1, 0, 0
	locate := func(offset int) position {
		for ; counted < offset; counted++ {
			if data[counted] == '\n' {
				line, start = line+1, counted+1
			}
		}
		return position{line, offset - start + 1}
	}
	next := func() (json.Token, position, error) {
		offset := int(d.InputOffset())
		for offset < len(data) && strings.IndexByte(" \t\r\n,:", data[offset]) >= 0 {
			offset++
		}
		at := locate(offset)
		t, err := d.Token()
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, at, at.errorf("unexpected end of file")
		case err != nil:
			return nil, at, at.errorf("%w", err)
		}
		return t, at, nil
	}
	const form = `want an array of objects like {"measure": "cycles", "value": 601}`
	t, at, err := next()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, at.errorf(form)
	}
	var list []Expectation
	for {
		t, first, err := next()
		switch {
		case err != nil:
			return nil, err
		case t == json.Delim(']'):
			if rest := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return nil, locate(len(data) - len(rest)).errorf("text after the end of the array")
			}
			return list, nil
		case t != json.Delim('{'):
			return nil, first.errorf(form)
		}
		row := map[string]cell{}
		for {
			key, at, err := next()
			if err != nil {
				return nil, err
			}
			if key == json.Delim('}') {
				break
			}
			name, _ := key.(string)
			if !slices.Contains(columns, name) {
				return nil, at.errorf("unknown member %q; want %s", name, strings.Join(columns, ", "))
			}
			if _, twice := row[name]; twice {
				return nil, at.errorf("duplicate member %q", name)
			}
			value, at, err := next()
			if err != nil {
				return nil, err
			}
			switch v := value.(type) {
			case string:
				row[name] = cell{v, at}
			case json.Number:
				row[name] = cell{v.String(), at}
			default:
				return nil, at.errorf("member %q: want a string or a number", name)
			}
		}
		x, err := newExpectation(row, first)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
}

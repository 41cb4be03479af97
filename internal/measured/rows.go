package measured

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed rows.txt
var rows string

//go:embed later.txt
var laterRows string

// LaterRows returns the built-in measurements of engines after the M1's, in the order of later.txt.
func LaterRows() ([]Row, error) { return parseRows(laterRows) }

// Rows returns the built-in measurements, in the order of rows.txt.
func Rows() ([]Row, error) { return parseRows(rows) }

// parseRows parses the format of rows.txt, which is described at the start of that file.
func parseRows(text string) ([]Row, error) {
	var out []Row
	sources, n := make(map[string]string), 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if f[0] == "source" && len(f) == 3 {
			sources[f[1]] = f[2]
			continue
		}
		if len(f) != 11 {
			return nil, &RowError{n, fmt.Sprintf("row has %d fields; want 11", len(f)), nil}
		}
		r := Row{ID: f[0], Tier: f[1], Chip: f[2], Machine: f[3], Op: f[4], Source: sources[f[10]]}
		// Each row says where it comes from: a figure without a source cannot be checked.
		if r.Source == "" {
			return nil, &RowError{n, fmt.Sprintf("unknown source %q; want a name from an earlier \"source\" line", f[10]), nil}
		}
		for _, word := range strings.Fields(f[5]) {
			name, v, _ := strings.Cut(word, "=")
			if err := r.setShapeValue(name, v); err != nil {
				return nil, &RowError{n, name, err}
			}
		}
		for i, dst := range [...]*float64{&r.Latency, &r.Sustained, &r.Power, &r.Energy} {
			if v := f[6+i]; v != "-" {
				var err error
				if *dst, err = strconv.ParseFloat(v, 64); err != nil {
					return nil, &RowError{n, fmt.Sprintf("field %d", 7+i), err}
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// setShapeValue sets the dimension of r with the given name, such as "Cin", to the number in v.
func (r *Row) setShapeValue(name, v string) (err error) {
	// The keys are the columns of the CSV form in lower case, but for those that only this form has.
	ints := map[string]*int{
		"n": &r.N, "cin": &r.Cin, "h": &r.H, "w": &r.W, "cout": &r.Cout, "kh": &r.Kh, "kw": &r.Kw,
		"stride": &r.Stride, "groups": &r.Groups, "m": &r.M, "k": &r.K, "cols": &r.Cols, "depth": &r.Depth,
	}
	switch dst := ints[name]; {
	case dst != nil:
		*dst, err = parseDimension(v)
	case name == "weights":
		r.Weights = v
	case name == "bytes":
		r.Bytes, err = strconv.ParseUint(v, 10, 64)
	case name == "gflops":
		r.GFLOPS, err = strconv.ParseFloat(v, 64)
	case name == "nohost":
		r.NoHost = true
	case name == "valid":
		r.Valid = true
	case name == "clock":
		r.Clock, err = parseDimension(v)
	case name == "path":
		r.Path = v
	case name == "shared":
		r.Shared = true
	case name == "act":
		r.Activations = v
	case name == "unexplained":
		r.Unexplained = true
	default:
		err = fmt.Errorf("unknown key %q", name)
	}
	return err
}

// maxDimension limits a dimension. It is far above any tensor of the engine, and the product of two
// cannot overflow.
const maxDimension = 1 << 24

// parseDimension parses a dimension of a shape. It returns an error if the dimension is out of
// range.
func parseDimension(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err == nil && (n < 0 || n > maxDimension) {
		err = fmt.Errorf("dimension %d is out of range; want 0 to %d", n, maxDimension)
	}
	return n, err
}

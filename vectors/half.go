package vectors

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A Half is an fp16 value in a case: a JSON number that fp16 represents exactly, including -0, or
// one of the strings "inf", "-inf", "nan", or 0x followed by four hexadecimal digits.
type Half float16.Float16

var halfNames = map[string]Half{"inf": 0x7c00, "-inf": 0xfc00, "nan": 0x7e00}

// UnmarshalJSON parses a half. A number that fp16 cannot represent exactly is an error.
func (h *Half) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		v, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return err
		}
		f := float16.Fromfloat32(float32(v))
		if float64(f.Float32()) != v {
			return fmt.Errorf("fp16 cannot represent %s exactly", b)
		}
		*h = Half(f)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if v, ok := halfNames[s]; ok {
		*h = v
		return nil
	}
	v, err := strconv.ParseUint(s, 0, 16)
	if err != nil || len(s) != len("0x3b9f") {
		return fmt.Errorf("invalid fp16 value %q; want a number, inf, -inf, nan or 0x and four digits", s)
	}
	*h = Half(v)
	return nil
}

// MarshalJSON writes the half as a number, or as a string with its bits if it is infinite or NaN.
func (h Half) MarshalJSON() ([]byte, error) {
	v := float64(float16.Float16(h).Float32())
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Appendf(nil, `"%#04x"`, uint16(h)), nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
}

// A Span stands for Times equal halves in a row; 0 means one.
type Span struct {
	Times int  `json:"times,omitempty"`
	V     Half `json:"v"`
}

// Values holds the elements of a tensor in N, C, H, W order.
type Values []Span

// Halves returns the elements one by one.
func (v Values) Halves() []float16.Float16 {
	var h []float16.Float16
	for _, s := range v {
		for range max(1, s.Times) {
			h = append(h, float16.Float16(s.V))
		}
	}
	return h
}

// maxTimes limits how many values a case can make a reader expand.
const maxTimes = 1 << 20

// checkTimes returns an error if n is negative or too large.
func checkTimes(n int) error {
	if n < 0 || n > maxTimes {
		return fmt.Errorf("found %d times, want 0 to %d", n, maxTimes)
	}
	return nil
}

func (v Values) check() error {
	for _, s := range v {
		if err := checkTimes(s.Times); err != nil {
			return err
		}
	}
	return nil
}

package vectors

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A Half is an fp16 value. In JSON it is a number that fp16 represents exactly, including -0, or a
// string: "inf", "-inf", "nan", or "0x" followed by the four hexadecimal digits of its bits.
type Half float16.Float16

var halfNames = map[string]Half{"inf": 0x7c00, "-inf": 0xfc00, "nan": 0x7e00}

// UnmarshalJSON parses a number or a string in the form described for [Half]. It returns an error
// for a number that fp16 cannot represent exactly.
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
		return fmt.Errorf("invalid fp16 value %q; want a number, \"inf\", \"-inf\", \"nan\" or \"0x\" with four hexadecimal digits", s)
	}
	*h = Half(v)
	return nil
}

// MarshalJSON returns the value as a JSON number. It returns the bits as a string such as
// "0x7c00" if the value is infinite or NaN.
func (h Half) MarshalJSON() ([]byte, error) {
	v := float64(float16.Float16(h).Float32())
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Appendf(nil, `"%#04x"`, uint16(h)), nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
}

// A Span is a run of Times equal fp16 values V. If Times is 0, the run has one value.
type Span struct {
	Times int  `json:"times,omitempty"`
	V     Half `json:"v"`
}

// Values holds the elements of a tensor in N, C, H, W order, as runs of equal values.
type Values []Span

// Halves returns all elements of the tensor as a flat slice.
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

// checkRepeatCount returns an error unless the repeat count n is from 0 to maxTimes.
func checkRepeatCount(n int) error {
	if n < 0 || n > maxTimes {
		return fmt.Errorf("repeat count is %d; want 0 to %d", n, maxTimes)
	}
	return nil
}

func (v Values) validate() error {
	for _, s := range v {
		if err := checkRepeatCount(s.Times); err != nil {
			return err
		}
	}
	return nil
}

package vectors

import (
	"errors"
	"fmt"
)

// A TableError holds the largest errors of one activation function over many inputs, as a device
// printed them: the largest absolute error to four significant digits, and the largest error in
// units of the last place of the exact result, with one decimal place, and its input to four
// significant digits. A unit is at least 2^-24.
type TableError struct {
	Function string  `json:"function"`          // sigmoid, tanh, gelu, silu, exp, sqrt, rsqrt, inverse or log
	Epsilon  float64 `json:"epsilon,omitempty"` // is added to the input, rounded to fp16

	// The inputs are Points values from Low to High, rounded to fp16. They are equally far apart or,
	// if Geometric is set, have equal ratios.
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Points    int     `json:"points"`
	Geometric bool    `json:"geometric,omitempty"`

	Error float64 `json:"error"`
	ULPs  float64 `json:"ulps"`
	At    float64 `json:"at"` // the input of ULPs
}

func (e *TableError) validate() error {
	switch {
	case e.Function == "" || e.Error == 0 || e.ULPs == 0:
		return errors.New(`"function", "error" and "ulps" are all required`)
	case e.Points < 2 || e.Points > 1<<24 || !(e.Low < e.High) || e.Geometric && e.Low <= 0:
		return fmt.Errorf("invalid inputs: %d points from %g to %g", e.Points, e.Low, e.High)
	}
	return nil
}

// TableErrors returns the cases in silicon/tables. Errors are of type *[CaseError].
func TableErrors() ([]Case[TableError], error) { return Load[TableError](files, "silicon/tables") }

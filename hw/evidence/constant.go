package evidence

// A Kind classifies the evidence for a number.
type Kind string

// The kinds of evidence, strongest first.
const (
	Measured   Kind = "measured"   // on silicon
	Bytes      Kind = "bytes"      // seen in real programs
	Decompiled Kind = "decompiled" // read from the vendor's code
	Fitted     Kind = "fitted"     // by this project or a study, from measurements
	Inferred   Kind = "inferred"
	Assumed    Kind = "assumed"
)

// A Constant is a number that describes the hardware, with the evidence for it.
type Constant struct {
	Value    float64
	Unit     string
	Evidence Kind
	Source   string
}

// New returns a constant with the given value and unit, the kind of evidence for it, and its
// source.
func New(value float64, unit string, kind Kind, source string) Constant {
	return Constant{value, unit, kind, source}
}

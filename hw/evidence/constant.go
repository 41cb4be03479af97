package evidence

// A Kind says what a number rests on.
type Kind string

// The kinds of evidence, strongest first.
const (
	Measured   Kind = "measured"   // on silicon
	Bytes      Kind = "bytes"      // seen in real programs
	Decompiled Kind = "decompiled" // read from the vendor's code
	Fitted     Kind = "fitted"     // by us or a study, from measurements
	Inferred   Kind = "inferred"
	Assumed    Kind = "assumed"
)

// A Constant is a number of the hardware with what it rests on.
type Constant struct {
	Value    float64
	Unit     string
	Evidence Kind
	Source   string
}

// New is a constant of a value in a unit, what it rests on and where that stands.
func New(value float64, unit string, kind Kind, source string) Constant {
	return Constant{value, unit, kind, source}
}

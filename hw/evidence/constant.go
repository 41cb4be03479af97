package evidence

// A Kind says how the value of a constant is known, for example by measurement.
type Kind string

// Kinds of evidence, strongest first.
const (
	Measured   Kind = "measured"   // on silicon
	Bytes      Kind = "bytes"      // seen in real programs
	Decompiled Kind = "decompiled" // read from the vendor's code
	Fitted     Kind = "fitted"     // by this project or a study, from measurements
	Inferred   Kind = "inferred"
	Assumed    Kind = "assumed"
)

// A Constant is a number that describes the hardware, with its unit and the evidence for its value.
type Constant struct {
	Value    float64
	Unit     string
	Evidence Kind
	Source   string
}

// New returns a constant. The unit may be empty, kind says how the value is known, and source names
// the measurement, document or assumption.
func New(value float64, unit string, kind Kind, source string) Constant {
	return Constant{value, unit, kind, source}
}

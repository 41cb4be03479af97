package paper

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What of the documents' rows with numbers the paper has no row of, by why.
const (
	notAFigure  = "a name or a form, no quantity"
	elsewhere   = "held by the reader's own tests: a form of file, not a quantity of a run"
	unspecified = "nothing in the documents says what it does"
	hostSide    = "the vendor's user space, which the model does not have"
)

// paperOf is which of the paper's claims, by a part of their name, shows a row of the
// documents' table, or why none does.
var paperOf = map[int]string{
	1: "-" + notAFigure, 2: "-" + notAFigure, 3: "magic of a container", 4: "bytes of the root table", 7: "place of field 3 in the root table",
	8: "values of OpType", 10: "-" + notAFigure, 12: "bytes that six operations take more", 13: "bytes that K=256 takes more",
	16: "operations of one network", 17: "words of G6", 18: "image offset of G6", 19: "-" + notAFigure,
	21: "bits of Common.InDim.Win", 22: "bits of Common.Cin.Cin", 23: "bits of Common.ConvCfg.OCGSize", 24: "bits of Common.GroupConvCfg.NumGroups",
	25: "coefficient streams", 26: "relocation slot: activation table", 28: "bits of TileDMASrc.Src1RowStride", 38: "-" + elsewhere,
	40: "elements of the input's row", 41: "address of the weights", 43: "-" + elsewhere, 44: "-" + elsewhere, 45: "words 0x81 from 0x234",
	46: "-" + elsewhere, 47: "opcode", 48: "-" + notAFigure, 49: "bytes of the load commands", 50: "segment commands",
	53: "-" + unspecified, 54: "-" + unspecified, 55: "values of CatalogueType", 56: "-" + elsewhere, 57: "bytes of a lane's coefficients",
	59: "weights of 1.0", 60: "magic of a container", 62: "windows stand at multiples", 63: "-" + elsewhere, 64: "place of descriptor 2",
	65: "-" + elsewhere, 66: "-" + elsewhere, 67: "-" + elsewhere, 68: "debug-event word", 69: "-" + elsewhere, 70: "relocations of the text",
	71: "-" + notAFigure, 72: "-" + elsewhere, 73: "weight tiles of the convolution", 74: "stride of the input along n",
	76: "values of SerialType", 77: "values of UnitType", 80: "bytes of the request", 82: "-" + hostSide, 84: "-" + elsewhere,
	85: "selectors that the M1's shim calls", 86: "last offset of the argument block", 87: "selectors that refuse", 88: "selectors of the control client",
	89: "bytes of a dispatch record", 90: "selectors that refuse", 91: "control selector 0,", 92: "control selector 1,", 93: "control selector 2,",
	94: "control selector 3,", 95: "control selector 4,", 96: "control selector 5,", 97: "control selector 6,", 98: "control selector 7,",
	99: "control selector 8,", 100: "control selector 9,", 101: "control selector 10,", 102: "control selector 11,", 103: "control selector 16,",
	104: "open: timeout", 105: "open: code of usage 2", 107: "direct path selector 2,", 108: "direct path selector 3,", 109: "direct path selector 4,",
	110: "direct path selector 5,", 111: "direct path selector 6,", 112: "direct path selector 7,", 113: "direct path selector 8,",
	120: "doorbells", 121: "request: surfaces", 122: "bytes of the reply", 123: "doorbells", 124: "bits that say a completion store failed",
	128: "binaries that hold", 135: "device property: version", 136: "device property: number of cores",
	151: "highest priority number", 154: "a call of a small graph", 155: "share of the call that is overhead", 156: "stage: completion",
	157: "SendRequest", 158: "interrupts of a call", 159: "two submitting threads", 163: "resident accumulator, call 4", 153: "that never complete",
	169: "-" + hostSide, 170: "-" + hostSide, 171: "-" + hostSide, 174: "-" + hostSide, 175: "-" + hostSide, 176: "-" + hostSide,
	190: "values of NeuronToken", 191: "values of SerialType", 193: "values of RoundingMode", 194: "values of PoolingType", 195: "values of ReductionType",
	196: "values of ElementwiseType", 197: "values of ScaledElementwiseType", 198: "values of PaddingMode", 200: "values of UnitType",
	201: "values of NonLinearMode", 202: "values of MicroOp", 203: "-" + unspecified, 204: "-" + elsewhere, 205: "-" + elsewhere,
	206: "selectors of the control client", 208: "values of ReturnCode", 209: "-" + elsewhere, 210: "-" + elsewhere, 211: "status byte of a domain",
	214: "bytes of a block's descriptor", 215: "init records", 216: "0x26b140020", 217: "0x26b40080c", 218: "words 0x8fffc000", 219: "tile enables set",
	220: "0x26bc1400c", 221: "peak-power base budget", 222: "peak-power control before arming", 223: "energy scale, counter 2", 224: "sampling period",
	225: "accumulation window", 226: "0x26b8f4000", 227: "energy scale, counter 0", 228: "peak-power control once armed", 229: "tiles that are on",
	230: "records that no document has", 231: "sampling threshold 6", 232: "leakage threshold 7", 234: "commands", 235: "the number that is no command",
	236: "signal events of a call", 237: "custom bars of a program", 238: "execute-order entries", 239: "input buffers of a trigger",
	240: "active shared events", 241: "output buffer sets", 242: "priorities of the realtime band", 243: "words of a command's header",
	245: "commands from 0x45", 246: "notifications of the firmware", 249: "place of NumGroups in G1", 250: "place of InFmt in G1",
	252: "bits of L2.Src1Base", 253: "bits of a device address", 254: "relocation slot", 257: "-" + elsewhere, 258: "pairs of build information",
	259: "values of TensorDataType",
}

// TestPaperCoversTheTable holds the paper to every row of the documents' table that
// carries a number.
func TestPaperCoversTheTable(t *testing.T) {
	d, err := Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := func(part string) bool {
		return slices.ContainsFunc(d.Rows, func(r Row) bool { return strings.Contains(r.Claim, part) })
	}
	for id, part := range paperOf {
		if !strings.HasPrefix(part, "-") && !shown(part) {
			t.Errorf("row %d: the paper has no %q", id, part)
		}
	}
	f, err := os.Open(filepath.Join("..", "shared", "spec", "coverage.csv"))
	if err != nil {
		t.Skip("the documents' table is not there: ", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// Digits of names are no figures.
	names := regexp.MustCompile(`v10|fp16|int8|int4|e4m3|C\.\d+|M1\b|E5\b|\bu64\b|G[0-6]\b|T\d`)
	numbered, with := 0, 0
	for _, row := range rows[1:] {
		id, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.ContainsAny(names.ReplaceAllString(row[3]+" "+row[4], ""), "0123456789") {
			continue
		}
		numbered++
		switch part, ok := paperOf[id]; {
		case !ok:
			t.Errorf("row %d carries a number and has no claim: %s", id, row[3])
		case !strings.HasPrefix(part, "-"):
			with++
		}
	}
	t.Logf("%d rows with numbers, %d of them shown; the paper has %d claims", numbered, with, len(d.Rows))
}

package onnxruntime

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

//go:embed run.mjs
var script []byte

// Find checks that [Run] can find node and onnxruntime. It returns an error if the command node is
// not in $PATH, or if neither $ORT_DIR nor the current directory has the npm package
// onnxruntime-node or onnxruntime-web.
func Find() error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New(`cannot run onnxruntime: command "node" not found in $PATH`)
	}
	for _, dir := range []string{os.Getenv("ORT_DIR"), "."} {
		for _, name := range []string{"onnxruntime-node", "onnxruntime-web"} {
			if _, err := os.Stat(filepath.Join(dir, "node_modules", name)); err == nil && dir != "" {
				return nil
			}
		}
	}
	return errors.New("missing npm package; want onnxruntime-node or onnxruntime-web in $ORT_DIR or the current directory")
}

// Save writes an ONNX file and its inputs, keyed by name, to the directory dir, where [Run] reads
// them. It creates dir if necessary.
func Save(dir string, file []byte, inputs map[string]*tensor.Tensor) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "net.onnx"), file, 0o666); err != nil {
		return err
	}
	for name, t := range inputs {
		data, err := encodeArray(t)
		if err != nil {
			return fmt.Errorf("input %q: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "in_"+escapeName(name)+".npy"), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// Run runs onnxruntime on the networks that [Save] wrote to dirs, and stores the outputs in the
// same directories for [Outputs]. If onnxruntime refuses a network, Run succeeds and Outputs
// returns the message. Run returns an error if onnxruntime cannot be started or stops early.
func Run(dirs ...string) error {
	temp, err := os.MkdirTemp("", "onnxruntime")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	run := filepath.Join(temp, "run.mjs")
	if err := os.WriteFile(run, script, 0o666); err != nil {
		return err
	}
	node := exec.Command("node", run, "-")
	node.Stdin = strings.NewReader(strings.Join(dirs, "\n") + "\n")
	out, err := node.CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte(" graphs ran")) {
		return fmt.Errorf("node: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Outputs returns the outputs of the model m that [Run] stored in dir, keyed by name. If
// onnxruntime refused the model, the error is its message.
func Outputs(dir string, m *onnx.Model) (map[string]*tensor.Tensor, error) {
	if report, err := os.ReadFile(filepath.Join(dir, "ort_error.txt")); err == nil {
		return nil, errors.New(strings.TrimSpace(string(report)))
	}
	outputs := map[string]*tensor.Tensor{}
	for _, out := range m.Outputs {
		data, err := os.ReadFile(filepath.Join(dir, "ort_"+escapeName(out.Name)+".npy"))
		if err != nil {
			return nil, err
		}
		if outputs[out.Name], err = DecodeArray(data); err != nil {
			return nil, fmt.Errorf("output %q: %w", out.Name, err)
		}
	}
	return outputs, nil
}

// escapeName turns the name of a tensor into a part of a file name, in the same way as run.mjs.
func escapeName(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C").Replace(name)
}

// descriptors holds numpy's names of the types.
var descriptors = map[onnx.DataType]string{
	onnx.Float: "<f4", onnx.Double: "<f8", onnx.Float16: "<f2", onnx.Int64: "<i8", onnx.Int32: "<i4",
	onnx.Int16: "<i2", onnx.Int8: "|i1", onnx.Uint8: "|u1", onnx.Uint16: "<u2", onnx.Bool: "|b1",
}

// encodeArray returns t in the .npy format.
func encodeArray(t *tensor.Tensor) ([]byte, error) {
	descriptor, ok := descriptors[t.Type]
	if !ok {
		return nil, fmt.Errorf("unsupported element type %v", t.Type)
	}
	shape := ""
	for _, d := range t.Dims {
		shape += fmt.Sprintf("%d,", d)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descriptor, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	b = append(b, header...)
	for _, v := range t.Data {
		b = t.Type.Append(b, v)
	}
	return b, nil
}

var headerFields = regexp.MustCompile(`'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\)`)

// DecodeArray returns the tensor in an .npy file of version 1, the format in which numpy stores
// arrays. It accepts little-endian numbers and booleans in row-major order.
func DecodeArray(data []byte) (*tensor.Tensor, error) {
	if !bytes.HasPrefix(data, []byte("\x93NUMPY\x01")) || len(data) < 10 {
		return nil, errors.New("unsupported format; want a version 1 .npy file")
	}
	end := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	if end > len(data) {
		return nil, fmt.Errorf("truncated header: file has %d bytes; want at least %d", len(data), end)
	}
	// The header is a literal of Python. A pattern of the one form that numpy writes takes the place of a
	// parser.
	field := headerFields.FindSubmatch(data[10:end])
	if field == nil {
		return nil, fmt.Errorf("unsupported .npy header %q; want row-major order and the keys descr, fortran_order and shape", data[10:end])
	}
	t := &tensor.Tensor{Dims: []int{}}
	for kind, descriptor := range descriptors {
		if descriptor == string(field[1]) {
			t.Type = kind
		}
	}
	if t.Type == 0 {
		return nil, fmt.Errorf("unsupported element type %q", field[1])
	}
	var dims []int64
	for s := range strings.FieldsFuncSeq(string(field[2]), func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.Atoi(s)
		if err != nil {
			return nil, err
		}
		t.Dims, dims = append(t.Dims, d), append(dims, int64(d))
	}
	var err error
	t.Data, err = onnx.NewTensor("", t.Type, dims, slices.Clone(data[end:])).Numbers()
	return t, err
}

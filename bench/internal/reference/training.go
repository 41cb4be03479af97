package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"math"
)

// trainingDomain is the domain of ONNX's optimizers.
const trainingDomain = "ai.onnx.preview.training"

// trainingOperators has the losses, optimizers and the normalization of training.
var trainingOperators = map[string]operator{
	"NegativeLogLikelihoodLoss": {2, func(c *call) ([]*tensor.Tensor, error) { return wrapInList(computeLoss(c, c.in[0])) }},
	"SoftmaxCrossEntropyLoss":   {2, computeCrossEntropy},
	"Adagrad":                   {5, newOptimizer(1, stepAdagrad)}, "Adam": {6, newOptimizer(2, stepAdam)}, "Momentum": {5, newOptimizer(1, stepMomentum)},
}

// computeLoss computes the loss of log-probabilities x, of shape N, C and more axes.
func computeLoss(c *call, x *tensor.Tensor) (*tensor.Tensor, error) {
	labels := c.in[1]
	if len(x.Dims) < 2 || len(labels.Data)*x.Dims[1] != len(x.Data) {
		return nil, fmt.Errorf("shapes %v and %v do not fit", x.Dims, labels.Dims)
	}
	classes := x.Dims[1]
	inner, err := tensor.CountElements(x.Dims[2:])
	if err != nil {
		return nil, err
	}
	out, err := tensor.New(x.Type, labels.Dims...)
	if err != nil {
		return nil, err
	}
	if t := c.inputTensor(2); t != nil && len(t.Data) != classes {
		return nil, fmt.Errorf("weight has shape %v; want %d elements", t.Dims, classes)
	}
	all := 0.0
	for i, label := range labels.Data {
		if c.attribute("ignore_index") != nil && int(label) == c.intAttribute("ignore_index", 0) {
			continue
		}
		if !(label >= 0 && label < float64(classes)) {
			return nil, fmt.Errorf("label %g is out of range for %d classes", label, classes)
		}
		w := 1.0
		if t := c.inputTensor(2); t != nil {
			w = t.Data[int(label)]
		}
		out.Data[i] = -w * x.Data[(i/inner*classes+int(label))*inner+i%inner]
		// The mean is weighted: it divides by the sum of the weights, not by the number of labels.
		all += w
	}
	kind := c.textAttribute("reduction", "mean")
	if kind == "none" {
		return out, nil
	}
	sum, err := tensor.New(x.Type)
	if err != nil {
		return nil, err
	}
	for _, v := range out.Data {
		sum.Data[0] += v
	}
	if kind == "mean" {
		sum.Data[0] /= all
	}
	return sum, nil
}

func computeCrossEntropy(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	if len(x.Dims) < 2 {
		return nil, fmt.Errorf("scores have shape %v; want at least 2 axes", x.Dims)
	}
	log := x.MapElements(func(v float64) float64 { return v })
	classes := x.Dims[1]
	inner, err := tensor.CountElements(x.Dims[2:])
	if err != nil {
		return nil, err
	}
	for line := range x.Dims[0] * inner {
		first := line/inner*classes*inner + line%inner
		largest, sum := math.Inf(-1), 0.0
		for k := range classes {
			largest = max(largest, x.Data[first+k*inner])
		}
		for k := range classes {
			sum += math.Exp(x.Data[first+k*inner] - largest)
		}
		for k := range classes {
			log.Data[first+k*inner] = x.Data[first+k*inner] - largest - math.Log(sum)
		}
	}
	loss, err := computeLoss(c, log)
	return []*tensor.Tensor{loss, log}, err
}

// newOptimizer returns a function that calls step for each element of each tensor of an optimizer. step
// gets the rate, the count of steps, the element, its gradient with regularization, and its states, which
// it changes; it returns the new element.
func newOptimizer(states int, step func(c *call, rate, count, x, g float64, state []float64) float64) func(*call) ([]*tensor.Tensor, error) {
	return func(c *call) ([]*tensor.Tensor, error) {
		if c.node.Domain != trainingDomain {
			return nil, &UnsupportedError{Domain: c.node.Domain, Op: c.node.Op}
		}
		// Any number of tensors share a node. All tensors come first, then all gradients, then the states.
		n := (len(c.in) - 2) / (2 + states)
		if len(c.in) != 2+n*(2+states) {
			return nil, fmt.Errorf("%d inputs", len(c.in))
		}
		for i, t := range c.in {
			if t == nil || i < 2 && len(t.Data) != 1 || i >= 2 && len(t.Data) != len(c.in[2+(i-2)%n].Data) {
				return nil, fmt.Errorf("input %d is missing or has another number of elements than its tensor", i)
			}
		}
		out := make([]*tensor.Tensor, n*(1+states))
		for i := range out {
			from := c.in[2+i]
			if i >= n {
				from = c.in[2+n+i]
			}
			out[i] = from.MapElements(func(v float64) float64 { return v })
		}
		for i := range n {
			for k, x := range c.in[2+i].Data {
				g := c.in[2+n+i].Data[k] + c.floatAttribute("norm_coefficient", 0)*x
				state := make([]float64, states)
				for s := range state {
					state[s] = out[(1+s)*n+i].Data[k]
				}
				out[i].Data[k] = step(c, c.in[0].Data[0], c.in[1].Data[0], x, g, state)
				for s := range state {
					out[(1+s)*n+i].Data[k] = state[s]
				}
			}
		}
		return out, nil
	}
}

func stepAdagrad(c *call, rate, count, x, g float64, state []float64) float64 {
	state[0] += g * g
	return x - rate/(1+count*c.floatAttribute("decay_factor", 0))*g/(math.Sqrt(state[0])+c.floatAttribute("epsilon", 1e-6))
}

func stepAdam(c *call, rate, count, x, g float64, state []float64) float64 {
	alpha, beta := c.floatAttribute("alpha", float64(float32(0.9))), c.floatAttribute("beta", float64(float32(0.999)))
	state[0] = alpha*state[0] + (1-alpha)*g
	state[1] = beta*state[1] + (1-beta)*g*g
	if count > 0 {
		rate *= math.Sqrt(1-math.Pow(beta, count)) / (1 - math.Pow(alpha, count))
	}
	return (1 - c.floatAttribute("norm_coefficient_post", 0)) * (x - rate*state[0]/(math.Sqrt(state[1])+c.floatAttribute("epsilon", 1e-6)))
}

func stepMomentum(c *call, rate, count, x, g float64, state []float64) float64 {
	alpha, beta := c.floatAttribute("alpha", 0), c.floatAttribute("beta", 0)
	if count == 0 {
		beta = 1
	}
	state[0] = alpha*state[0] + beta*g
	if c.textAttribute("mode", "") == "nesterov" {
		return x - rate*(g+alpha*state[0])
	}
	return x - rate*state[0]
}

// computeTrainingNorm computes a BatchNormalization of training.
func computeTrainingNorm(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	if len(x.Dims) < 2 {
		return nil, fmt.Errorf("input has shape %v; want at least 2 axes", x.Dims)
	}
	channels := x.Dims[1]
	inner, err := tensor.CountElements(x.Dims[2:])
	if err != nil {
		return nil, err
	}
	for _, t := range c.in[1:5] {
		if len(t.Data) != channels {
			return nil, fmt.Errorf("an input has shape %v; want one value for each of %d channels", t.Dims, channels)
		}
	}
	out := []*tensor.Tensor{x.MapElements(func(v float64) float64 { return v }), c.in[3].MapElements(func(v float64) float64 { return v }), c.in[4].MapElements(func(v float64) float64 { return v })}
	// Rounded to float32, as an attribute in a file would be.
	momentum, epsilon := c.floatAttribute("momentum", float64(float32(0.9))), c.floatAttribute("epsilon", float64(float32(1e-5)))
	for k := range channels {
		var line []float64
		for i, v := range x.Data {
			if i/inner%channels == k {
				line = append(line, v)
			}
		}
		mean, variance := computeMeanAndVariance(line)
		for i, v := range x.Data {
			if i/inner%channels == k {
				out[0].Data[i] = (v-mean)/math.Sqrt(variance+epsilon)*c.in[1].Data[k] + c.in[2].Data[k]
			}
		}
		out[1].Data[k] = momentum*out[1].Data[k] + (1-momentum)*mean
		out[2].Data[k] = momentum*out[2].Data[k] + (1-momentum)*variance
	}
	return out, nil
}

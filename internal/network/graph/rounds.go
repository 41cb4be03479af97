package graph

// MaxRounds is the largest number of rounds to which a loop is unrolled, and of steps of a recurrent
// layer. A program of the engine has no jumps, so each becomes layers of its own.
const MaxRounds = 512

package types

// Epoch numbers the interval between two barriers of one job graph. Epochs of
// the whole process come from one counter, so they are comparable; zero means
// "before anything".
type Epoch uint64

// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX Runtime.

func.func @main(
    %x1: tensor<2x1x1xf32> {graph.name = "x1", graph.value =
      dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>},
    %x: tensor<4x2x2xf32> {graph.name = "x", graph.value =
      dense<[[[-1.25, 0.5], [-0.5, 1.25]], [[0.25, -0.75], [1.0, 0.0]], [[-1.0, 0.75],
             [-0.25, -1.25]], [[0.5, -0.5], [1.25, 0.25]]]> : tensor<4x2x2xf32>},
    %h_1: tensor<1x2x3xf32> {graph.name = "h_1", graph.value =
      dense<[[[-0.5, 0.0, 0.5], [-0.25, 0.25, -0.5]]]> : tensor<1x2x3xf32>},
    %c_1: tensor<1x2x3xf32> {graph.name = "c_1", graph.value =
      dense<[[[-0.5, 0.25, -0.25], [0.5, 0.0, -0.5]]]> : tensor<1x2x3xf32>},
    %h_2: tensor<2x2x3xf32> {graph.name = "h_2", graph.value =
      dense<[[[-0.5, 0.0, 0.5], [-0.25, 0.25, -0.5]], [[0.0, 0.5, -0.25],
             [0.25, -0.5, 0.0]]]> : tensor<2x2x3xf32>},
    %c_2: tensor<2x2x3xf32> {graph.name = "c_2", graph.value =
      dense<[[[-0.5, 0.25, -0.25], [0.5, 0.0, -0.5]], [[0.25, -0.25, 0.5],
             [0.0, -0.5, 0.25]]]> : tensor<2x2x3xf32>},
    %xw: tensor<2x1x5xf32> {graph.name = "xw", graph.value =
      dense<[[[-1.25, 0.5, -0.5, 1.25, 0.25]], [[-0.75, 1.0, 0.0, -1.0, 0.75]]]> : tensor<2x1x5xf32>},
    %xd: tensor<4x2x2xf64> {graph.name = "xd", graph.value =
      dense<[[[-1.25, 0.5], [-0.5, 1.25]], [[0.25, -0.75], [1.0, 0.0]], [[-1.0, 0.75],
             [-0.25, -1.25]], [[0.5, -0.5], [1.25, 0.25]]]> : tensor<4x2x2xf64>},
    %xh: tensor<4x2x2xf16> {graph.name = "xh", graph.value =
      dense<[[[-1.25, 0.5], [-0.5, 1.25]], [[0.25, -0.75], [1.0, 0.0]], [[-1.0, 0.75],
             [-0.25, -1.25]], [[0.5, -0.5], [1.25, 0.25]]]> : tensor<4x2x2xf16>})
    -> (tensor<2x1x1x1xf32> {graph.name = "by_hand_y", graph.expect =
      dense<[[[[0.18169974]]], [[[0.29328224]]]]> : tensor<2x1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "by_hand_h", graph.expect =
      dense<[[[0.29328224]]]> : tensor<1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "by_hand_c", graph.expect =
      dense<[[[0.67241234]]]> : tensor<1x1x1xf32>},
        tensor<4x1x2x3xf32> {graph.name = "forward_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.49667767, -0.11140807, 0.040900365],
             [-0.3746552, -0.091892846, 0.11313019]]],
             [[[-0.07232768, 0.19332066, -0.014957474],
             [-0.03277702, 0.06660816, 0.188002]]],
             [[[-0.48289365, 0.13237387, 0.073951244],
             [0.015419403, 0.33945748, 0.0049357098]]],
             [[[-0.06669157, 0.1865, 0.057462275], [0.0516773, 0.114737906, 0.18535341]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "forward_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.06669157, 0.1865, 0.057462275], [0.0516773, 0.114737906, 0.18535341]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "forward_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.2500584, 0.50543165, 0.07711325], [0.1384699, 0.7304753, 0.22547406]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "bias_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.5024895, -0.09984228, 0.07590905],
             [-0.34893227, -0.08735757, 0.20065686]]],
             [[[-0.0826111, 0.15509245, -0.06451899],
             [-0.005086487, 0.043728612, 0.09615826]]],
             [[[-0.46168303, 0.09946447, 0.12690453],
             [-0.060361527, 0.37760556, -0.06337881]]],
             [[[-0.05431265, 0.18323034, -0.023542413],
             [0.009195703, 0.16154994, 0.23012486]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "bias_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.05431265, 0.18323034, -0.023542413],
             [0.009195703, 0.16154994, 0.23012486]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "bias_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.16324118, 0.3769605, -0.027468696], [0.02236491, 0.6257168, 0.25595182]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "reverse_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.49707705, 0.29613543, 0.08898605],
             [-0.35622287, 0.391029, 0.22558895]]],
             [[[-0.08777256, 0.28887278, -0.020275874],
             [0.015696486, 0.2249792, 0.058693826]]],
             [[[-0.43815312, 0.21380581, 0.11490076],
             [-0.045321785, 0.39704478, -0.043645144]]],
             [[[0.04593751, 0.19055106, -0.16270958],
             [0.030849243, 0.06130424, 0.17754132]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "reverse_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.49707705, 0.29613543, 0.08898605], [-0.35622287, 0.391029, 0.22558895]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "reverse_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.79679227, 0.3418768, 0.33469927], [-0.4748662, 0.57281446, 0.7952553]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "initial_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.54208976, 0.115987994, 0.023496987],
             [-0.2816033, -0.1434818, 0.16948612]]],
             [[[-0.104511894, 0.23234408, -0.080011874],
             [-0.0027039328, 0.037771143, 0.046442058]]],
             [[[-0.45983243, 0.1923962, 0.12967564],
             [-0.056310784, 0.37639034, -0.076968245]]],
             [[[-0.058857825, 0.21678129, -0.013320298],
             [0.00975717, 0.15995018, 0.23125046]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "initial_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.058857825, 0.21678129, -0.013320298],
             [0.00975717, 0.15995018, 0.23125046]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "initial_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.17966364, 0.44988683, -0.015391231],
             [0.023779303, 0.61344457, 0.2572053]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "only_c_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.5337305, 0.031049283, 0.01720152],
             [-0.34274665, -0.091892846, 0.070803955]]],
             [[[-0.09100781, 0.21945904, -0.053613912],
             [-0.025458002, 0.06846928, 0.12836304]]],
             [[[-0.48216692, 0.15527037, 0.07116264],
             [0.020614691, 0.3457033, -0.019305632]]],
             [[[-0.06909821, 0.19056058, 0.05102757], [0.05383889, 0.11538807, 0.18470523]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "only_c_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.06909821, 0.19056058, 0.05102757], [0.05383889, 0.11538807, 0.18470523]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "only_c_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.26078752, 0.5157448, 0.06814119], [0.14523982, 0.72207594, 0.22425151]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "peephole_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.45496818, -0.10015701, 0.09158323],
             [-0.33235124, -0.08797512, 0.28947976]]],
             [[[-0.07038305, 0.15584777, -0.04964128],
             [0.013936356, 0.04716964, 0.079287976]]],
             [[[-0.43525153, 0.09953951, 0.16660973],
             [-0.046531808, 0.3652041, -0.0636693]]],
             [[[-0.04494565, 0.179277, -0.0032986817], [0.0146462, 0.1375396, 0.23423226]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "peephole_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.04494565, 0.179277, -0.0032986817], [0.0146462, 0.1375396, 0.23423226]]]> : tensor<1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "peephole_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.13737878, 0.398686, -0.003854923], [0.03499295, 0.5896357, 0.2570115]]]> : tensor<1x2x3xf32>},
        tensor<4x2x2x3xf32> {graph.name = "both_ways_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.48332483, 0.10818007, 0.029312627],
             [-0.21634807, -0.14442907, 0.23101443]], [[0.0503147, -0.35297224, 0.17714606],
             [-0.16789065, 0.082736254, 0.07183034]]],
             [[[-0.09596194, 0.22932827, -0.07547358],
             [0.020289058, 0.04358269, 0.023571776]],
             [[-0.015624346, 0.09943889, 0.13029933],
             [-0.10648431, 0.23093943, 0.044762347]]],
             [[[-0.43745485, 0.18520898, 0.1675536],
             [-0.041220654, 0.3669994, -0.08115828]],
             [[-0.0053473767, -0.28515026, 0.07422167],
             [-0.013144078, 0.17083788, 0.20820262]]],
             [[[-0.052918356, 0.20520352, 0.004652985],
             [0.015283337, 0.13699801, 0.23707443]], [[0.01345422, 0.06877192, 0.051571332],
             [-0.0360232, 0.014856443, 0.059863206]]]]> : tensor<4x2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.052918356, 0.20520352, 0.004652985],
             [0.015283337, 0.13699801, 0.23707443]], [[0.0503147, -0.35297224, 0.17714606],
             [-0.16789065, 0.082736254, 0.07183034]]]> : tensor<2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.16632693, 0.46270484, 0.0053838864],
             [0.036610246, 0.5795489, 0.2601221]], [[0.100887775, -0.5947703, 0.22346301],
             [-0.22186098, 0.12291813, 0.119588785]]]> : tensor<2x2x3xf32>},
        tensor<4x2x2x3xf32> {graph.name = "both_ways_plain_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.49667767, -0.11140807, 0.040900365],
             [-0.3746552, -0.091892846, 0.11313019]], [[0.32968688, -0.5428215, 0.3094314],
             [0.41369435, -0.3292226, 0.27021393]]],
             [[[-0.07232768, 0.19332066, -0.014957474],
             [-0.03277702, 0.06660816, 0.188002]], [[0.043575957, -0.13123915, 0.34337422],
             [-0.14778252, 0.117775336, 0.16494717]]],
             [[[-0.48289365, 0.13237387, 0.073951244],
             [0.015419403, 0.33945748, 0.0049357098]],
             [[0.39641735, -0.44077417, 0.18397725],
             [-0.016019607, 0.07901457, 0.34958652]]], [[[-0.06669157, 0.1865, 0.057462275],
             [0.0516773, 0.114737906, 0.18535341]],
             [[-0.066585734, 0.090458415, 0.17626695],
             [-0.16612399, 0.04629121, 0.06664633]]]]> : tensor<4x2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_plain_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.06669157, 0.1865, 0.057462275], [0.0516773, 0.114737906, 0.18535341]],
             [[0.32968688, -0.5428215, 0.3094314], [0.41369435, -0.3292226, 0.27021393]]]> : tensor<2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_plain_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.2500584, 0.50543165, 0.07711325], [0.1384699, 0.7304753, 0.22547406]],
             [[0.69708705, -0.91146404, 0.3775714], [0.5290173, -0.4759951, 0.45189607]]]> : tensor<2x2x3xf32>},
        tensor<2x1x1x9xf32> {graph.name = "wide_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.41437888, -0.014656794, -0.0010814487, -0.046036992, -0.05700616,
             0.006115721, 0.009288033, 0.2975668, 0.31204253]]], [[[-0.22216657,
             -0.10020494, -0.31922206, -0.088170856, -0.11483932, 0.1328879, 0.17233624,
             0.017536873, 0.018339796]]]]> : tensor<2x1x1x9xf32>},
        tensor<1x1x9xf32> {graph.name = "wide_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.22216657, -0.10020494, -0.31922206, -0.088170856, -0.11483932, 0.1328879,
             0.17233624, 0.017536873, 0.018339796]]]> : tensor<1x1x9xf32>},
        tensor<1x1x9xf32> {graph.name = "wide_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.2614649, -0.11749981, -0.3673627, -0.09750486, -0.12883882, 0.3242392,
             0.50507164, 1.0930699, 1.6127093]]]> : tensor<1x1x9xf32>},
        tensor<4x1x2x3xf64> {graph.name = "double_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.5024895071983337, -0.09984228014945984, 0.07590904831886292],
             [-0.34893226623535156, -0.08735757321119308, 0.20065686106681824]]],
             [[[-0.0826110988855362, 0.15509244799613953, -0.0645189881324768],
             [-0.0050864871591329575, 0.04372861236333847, 0.09615825861692429]]],
             [[[-0.4616830348968506, 0.09946446865797043, 0.12690453231334686],
             [-0.060361526906490326, 0.3776055574417114, -0.06337881088256836]]],
             [[[-0.05431265011429787, 0.18323034048080444, -0.023542413488030434],
             [0.009195703081786633, 0.16154994070529938, 0.23012486100196838]]]]> : tensor<4x1x2x3xf64>},
        tensor<1x2x3xf64> {graph.name = "double_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.05431265011429787, 0.18323034048080444, -0.023542413488030434],
             [0.009195703081786633, 0.16154994070529938, 0.23012486100196838]]]> : tensor<1x2x3xf64>},
        tensor<1x2x3xf64> {graph.name = "double_c", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.1632411777973175, 0.37696048617362976, -0.027468696236610413],
             [0.022364910691976547, 0.6257168054580688, 0.25595182180404663]]]> : tensor<1x2x3xf64>},
        tensor<4x1x2x3xf16> {graph.name = "half_y", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[-0.4966, -0.1114, 0.0409], [-0.3748, -0.0919, 0.11316]]],
             [[[-0.0723, 0.1934, -0.01496], [-0.03278, 0.0666, 0.188]]],
             [[[-0.483, 0.1323, 0.074], [0.01542, 0.3394, 0.004936]]],
             [[[-0.0667, 0.1865, 0.05746], [0.05167, 0.11475, 0.1853]]]]> : tensor<4x1x2x3xf16>},
        tensor<1x2x3xf16> {graph.name = "half_h", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[-0.0667, 0.1865, 0.05746], [0.05167, 0.11475, 0.1853]]]> : tensor<1x2x3xf16>},
        tensor<1x2x3xf16> {graph.name = "half_c", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[-0.25, 0.5054, 0.0771], [0.1384, 0.7305, 0.2255]]]> : tensor<1x2x3xf16>}) {
  %w1 = graph.constant dense<[[[0.0], [0.0], [0.0], [1.0]]]> : tensor<1x4x1xf32>
  %r1 = graph.constant dense<0.0> : tensor<1x4x1xf32>
  %w_1 = graph.constant dense<[[[-1.5, -0.25], [1.0, -1.0], [0.25, 1.5], [-0.5, 0.75],
                               [-1.25, 0.0], [1.25, -0.75], [0.5, -1.5], [-0.25, 1.0],
                               [-1.0, 0.25], [1.5, -0.5], [0.75, -1.25], [0.0, 1.25]]]> : tensor<1x12x2xf32>
  %r_1 = graph.constant dense<[[[-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0],
                               [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75], [0.0, 0.75, -0.25],
                               [0.5, -0.5, 0.25], [-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5],
                               [0.25, -0.75, 0.0], [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75]]]> : tensor<1x12x3xf32>
  %b_1 = graph.constant dense<[[-1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
                               0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25,
                               -0.75, 0.5, -0.5, 0.75]]> : tensor<1x24xf32>
  %p_1 = graph.constant dense<[[-0.75, 0.25, -0.5, 0.5, -0.25, 0.75, 0.0, -0.75, 0.25]]> : tensor<1x9xf32>
  %w_2 = graph.constant dense<[[[-1.5, -0.25], [1.0, -1.0], [0.25, 1.5], [-0.5, 0.75],
                               [-1.25, 0.0], [1.25, -0.75], [0.5, -1.5], [-0.25, 1.0],
                               [-1.0, 0.25], [1.5, -0.5], [0.75, -1.25], [0.0, 1.25]],
                               [[-0.75, 0.5], [-1.5, -0.25], [1.0, -1.0], [0.25, 1.5],
                               [-0.5, 0.75], [-1.25, 0.0], [1.25, -0.75], [0.5, -1.5],
                               [-0.25, 1.0], [-1.0, 0.25], [1.5, -0.5], [0.75, -1.25]]]> : tensor<2x12x2xf32>
  %r_2 = graph.constant dense<[[[-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0],
                               [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75], [0.0, 0.75, -0.25],
                               [0.5, -0.5, 0.25], [-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5],
                               [0.25, -0.75, 0.0], [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75]],
                               [[0.0, 0.75, -0.25], [0.5, -0.5, 0.25], [-0.75, 0.0, 0.75],
                               [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0], [0.75, -0.25, 0.5],
                               [-0.5, 0.25, -0.75], [0.0, 0.75, -0.25], [0.5, -0.5, 0.25],
                               [-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0]]]> : tensor<2x12x3xf32>
  %b_2 = graph.constant dense<[[-1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
                               0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25,
                               -0.75, 0.5, -0.5, 0.75], [-0.25, 1.0, 0.0, -1.0, 0.25, -0.75,
                               0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5,
                               -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25, -0.75]]> : tensor<2x24xf32>
  %p_2 = graph.constant dense<[[-0.75, 0.25, -0.5, 0.5, -0.25, 0.75, 0.0, -0.75, 0.25],
                               [-0.5, 0.5, -0.25, 0.75, 0.0, -0.75, 0.25, -0.5, 0.5]]> : tensor<2x9xf32>
  %ww = graph.constant dense<[[[-1.5, -0.25, 1.0, -1.0, 0.25],
                              [1.5, -0.5, 0.75, -1.25, 0.0],
                              [1.25, -0.75, 0.5, -1.5, -0.25], [1.0, -1.0, 0.25, 1.5, -0.5],
                              [0.75, -1.25, 0.0, 1.25, -0.75],
                              [0.5, -1.5, -0.25, 1.0, -1.0], [0.25, 1.5, -0.5, 0.75, -1.25],
                              [0.0, 1.25, -0.75, 0.5, -1.5], [-0.25, 1.0, -1.0, 0.25, 1.5],
                              [-0.5, 0.75, -1.25, 0.0, 1.25],
                              [-0.75, 0.5, -1.5, -0.25, 1.0], [-1.0, 0.25, 1.5, -0.5, 0.75],
                              [-1.25, 0.0, 1.25, -0.75, 0.5],
                              [-1.5, -0.25, 1.0, -1.0, 0.25], [1.5, -0.5, 0.75, -1.25, 0.0],
                              [1.25, -0.75, 0.5, -1.5, -0.25], [1.0, -1.0, 0.25, 1.5, -0.5],
                              [0.75, -1.25, 0.0, 1.25, -0.75],
                              [0.5, -1.5, -0.25, 1.0, -1.0], [0.25, 1.5, -0.5, 0.75, -1.25],
                              [0.0, 1.25, -0.75, 0.5, -1.5], [-0.25, 1.0, -1.0, 0.25, 1.5],
                              [-0.5, 0.75, -1.25, 0.0, 1.25],
                              [-0.75, 0.5, -1.5, -0.25, 1.0], [-1.0, 0.25, 1.5, -0.5, 0.75],
                              [-1.25, 0.0, 1.25, -0.75, 0.5],
                              [-1.5, -0.25, 1.0, -1.0, 0.25], [1.5, -0.5, 0.75, -1.25, 0.0],
                              [1.25, -0.75, 0.5, -1.5, -0.25], [1.0, -1.0, 0.25, 1.5, -0.5],
                              [0.75, -1.25, 0.0, 1.25, -0.75],
                              [0.5, -1.5, -0.25, 1.0, -1.0], [0.25, 1.5, -0.5, 0.75, -1.25],
                              [0.0, 1.25, -0.75, 0.5, -1.5], [-0.25, 1.0, -1.0, 0.25, 1.5],
                              [-0.5, 0.75, -1.25, 0.0, 1.25]]]> : tensor<1x36x5xf32>
  %rw = graph.constant dense<[[[-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75],
                              [0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75],
                              [-0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5],
                              [-0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25],
                              [-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75],
                              [0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75],
                              [-0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5],
                              [-0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25],
                              [-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75],
                              [0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75],
                              [-0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5],
                              [-0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25],
                              [-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75],
                              [0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75],
                              [-0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5],
                              [-0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25],
                              [-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75],
                              [0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75],
                              [-0.25, 0.5, -0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5],
                              [-0.5, 0.25, -0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25],
                              [-0.75, 0.0, 0.75, -0.25, 0.5, -0.5, 0.25, -0.75, 0.0]]]> : tensor<1x36x9xf32>
  %wd = graph.constant dense<[[[-1.5, -0.25], [1.0, -1.0], [0.25, 1.5], [-0.5, 0.75],
                              [-1.25, 0.0], [1.25, -0.75], [0.5, -1.5], [-0.25, 1.0],
                              [-1.0, 0.25], [1.5, -0.5], [0.75, -1.25], [0.0, 1.25]]]> : tensor<1x12x2xf64>
  %rd = graph.constant dense<[[[-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75], [0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25], [-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0], [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75]]]> : tensor<1x12x3xf64>
  %bd = graph.constant dense<[[-1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
                              0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25,
                              -0.75, 0.5, -0.5, 0.75]]> : tensor<1x24xf64>
  %wh = graph.constant dense<[[[-1.5, -0.25], [1.0, -1.0], [0.25, 1.5], [-0.5, 0.75],
                              [-1.25, 0.0], [1.25, -0.75], [0.5, -1.5], [-0.25, 1.0],
                              [-1.0, 0.25], [1.5, -0.5], [0.75, -1.25], [0.0, 1.25]]]> : tensor<1x12x2xf16>
  %rh = graph.constant dense<[[[-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5], [0.25, -0.75, 0.0],
                              [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75], [0.0, 0.75, -0.25],
                              [0.5, -0.5, 0.25], [-0.75, 0.0, 0.75], [-0.25, 0.5, -0.5],
                              [0.25, -0.75, 0.0], [0.75, -0.25, 0.5], [-0.5, 0.25, -0.75]]]> : tensor<1x12x3xf16>

  // One unit whose gates stand at 1/2: c = tanh(1) / 2, then c / 2 + tanh(2) / 2; h = tanh(c) / 2.
  // CHECK: by_hand_y: reference, unfused, fused agree
  // CHECK: by_hand_h: reference, unfused, fused agree
  // CHECK: by_hand_c: reference, unfused, fused agree
  %by_hand_y, %by_hand_h, %by_hand_c = graph.lstm %x1, %w1, %r1
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<2x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>)
    -> (tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)

  // Four steps of two sequences; all states.
  // CHECK: forward_y: reference, unfused, fused agree
  // CHECK: forward_h: reference, unfused, fused agree
  // CHECK: forward_c: reference, unfused, fused agree
  %forward_y, %forward_h, %forward_c = graph.lstm %x, %w_1, %r_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // With a bias.
  // CHECK: bias_y: reference, unfused, fused agree
  // CHECK: bias_h: reference, unfused, fused agree
  // CHECK: bias_c: reference, unfused, fused agree
  %bias_y, %bias_h, %bias_c = graph.lstm %x, %w_1, %r_1, %b_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>, tensor<1x24xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // From the last step to the first; the last h is that of step 0.
  // CHECK: reverse_y: reference, unfused, fused agree
  // CHECK: reverse_h: reference, unfused, fused agree
  // CHECK: reverse_c: reference, unfused, fused agree
  %reverse_y, %reverse_h, %reverse_c = graph.lstm %x, %w_1, %r_1, %b_1
    {hidden = 3 : i64, direction = "reverse", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>, tensor<1x24xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // From given states.
  // CHECK: initial_y: reference, unfused, fused agree
  // CHECK: initial_h: reference, unfused, fused agree
  // CHECK: initial_c: reference, unfused, fused agree
  %initial_y, %initial_h, %initial_c = graph.lstm %x, %w_1, %r_1, %b_1, %h_1, %c_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>, tensor<1x24xf32>, tensor<1x2x3xf32>,
       tensor<1x2x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // From a given cell state, without a bias.
  // CHECK: only_c_y: reference, unfused, fused agree
  // CHECK: only_c_h: reference, unfused, fused agree
  // CHECK: only_c_c: reference, unfused, fused agree
  %only_c_y, %only_c_h, %only_c_c = graph.lstm %x, %w_1, %r_1, %c_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>, tensor<1x2x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // Gates that look at the cell.
  // CHECK: peephole_y: reference, unfused, fused agree
  // CHECK: peephole_h: reference, unfused, fused agree
  // CHECK: peephole_c: reference, unfused, fused agree
  %peephole_y, %peephole_h, %peephole_c = graph.lstm %x, %w_1, %r_1, %b_1, %p_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<1x12x2xf32>, tensor<1x12x3xf32>, tensor<1x24xf32>, tensor<1x9xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)

  // Both directions, with given states and peepholes.
  // CHECK: both_ways_y: reference, unfused, fused agree
  // CHECK: both_ways_h: reference, unfused, fused agree
  // CHECK: both_ways_c: reference, unfused, fused agree
  %both_ways_y, %both_ways_h, %both_ways_c = graph.lstm %x, %w_2, %r_2, %b_2, %h_2, %c_2, %p_2
    {hidden = 3 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<2x12x2xf32>, tensor<2x12x3xf32>, tensor<2x24xf32>, tensor<2x2x3xf32>,
       tensor<2x2x3xf32>, tensor<2x9xf32>)
    -> (tensor<4x2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)

  // Both directions, with nothing else.
  // CHECK: both_ways_plain_y: reference, unfused, fused agree
  // CHECK: both_ways_plain_h: reference, unfused, fused agree
  // CHECK: both_ways_plain_c: reference, unfused, fused agree
  %both_ways_plain_y, %both_ways_plain_h, %both_ways_plain_c = graph.lstm %x, %w_2, %r_2
    {hidden = 3 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<2x12x2xf32>, tensor<2x12x3xf32>)
    -> (tensor<4x2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)

  // Nine units: 36 gates are vectors and a tail.
  // CHECK: wide_y: reference, unfused, fused agree
  // CHECK: wide_h: reference, unfused, fused agree
  // CHECK: wide_c: reference, unfused, fused agree
  %wide_y, %wide_h, %wide_c = graph.lstm %xw, %ww, %rw
    {hidden = 9 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<2x1x5xf32>, tensor<1x36x5xf32>, tensor<1x36x9xf32>)
    -> (tensor<2x1x1x9xf32>, tensor<1x1x9xf32>, tensor<1x1x9xf32>)

  // Double precision (expected values in single).
  // CHECK: double_y: reference, unfused, fused agree
  // CHECK: double_h: reference, unfused, fused agree
  // CHECK: double_c: reference, unfused, fused agree
  %double_y, %double_h, %double_c = graph.lstm %xd, %wd, %rd, %bd
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<4x2x2xf64>, tensor<1x12x2xf64>, tensor<1x12x3xf64>, tensor<1x24xf64>)
    -> (tensor<4x1x2x3xf64>, tensor<1x2x3xf64>, tensor<1x2x3xf64>)

  // f16, computed in f32.
  // CHECK: half_y: reference, unfused, fused agree
  // CHECK: half_h: reference, unfused, fused agree
  // CHECK: half_c: reference, unfused, fused agree
  %half_y, %half_h, %half_c = graph.lstm %xh, %wh, %rh
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<4x2x2xf16>, tensor<1x12x2xf16>, tensor<1x12x3xf16>)
    -> (tensor<4x1x2x3xf16>, tensor<1x2x3xf16>, tensor<1x2x3xf16>)

  func.return %by_hand_y, %by_hand_h, %by_hand_c, %forward_y, %forward_h, %forward_c, %bias_y, %bias_h, %bias_c,
    %reverse_y, %reverse_h, %reverse_c, %initial_y, %initial_h, %initial_c, %only_c_y, %only_c_h,
    %only_c_c, %peephole_y, %peephole_h, %peephole_c, %both_ways_y, %both_ways_h, %both_ways_c,
    %both_ways_plain_y, %both_ways_plain_h, %both_ways_plain_c, %wide_y, %wide_h, %wide_c,
    %double_y, %double_h, %double_c, %half_y, %half_h, %half_c
    : tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>,
      tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>,
      tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>,
      tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>,
      tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>,
      tensor<4x2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<4x2x2x3xf32>,
      tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x1x1x9xf32>, tensor<1x1x9xf32>,
      tensor<1x1x9xf32>, tensor<4x1x2x3xf64>, tensor<1x2x3xf64>, tensor<1x2x3xf64>,
      tensor<4x1x2x3xf16>, tensor<1x2x3xf16>, tensor<1x2x3xf16>
}

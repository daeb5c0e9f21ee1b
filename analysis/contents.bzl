"""What the report shows, in order: one entry per experiment.

To add an experiment to the report, add its entry to SECTIONS. A figure named
here is a `figure` target of analysis/figures/BUILD. Bazel reads these lists for
names; report/contents.py reads them for texts, so each stays one plain literal.

No text holds a digit: it asks verified results for its numbers
(report/texts.py), and the chapter's own figure numbers stand in
"chapter_figure".
"""

# Figures over all experiments, at the top of the page.
OVERVIEW = [
    {
        "name": "all_claims",
        "caption_en": """All claims at a glance. (a) Each dot is a number that
            the chapter prints; its place says how far our value is from it, as
            a share of what agreement allows (half a unit of the last printed
            digit, or four standard errors where the number comes from random
            draws). Dots in the grey band agree. (b) How the claims of each
            experiment came out, claims in words included.""",
        "caption_zh": """所有论断一览。(a) 每个点是书中印出的一个数；位置表示我们的
            值与它之差占允许差的比例（允许差为末位数字的半个单位；来自随机抽样的数
            则为四个标准误差）。落在灰带内即为一致。(b) 各实验的论断（含文字论断）
            的结论。""",
    },
]

SECTIONS = [
    {
        "experiment": "layer_cost",
        "title_en": "What recurrence and attention cost",
        "title_zh": "循环与注意力的代价",
        "question_en": """What do recurrence and attention cost in operations,
            dependent steps, distance and memory?""",
        "question_zh": """循环与注意力在运算量、依赖步数、距离和内存上各有什么
            代价？""",
        "figures": [
            {
                "name": "layer_cost",
                "caption_en": """Two ways to mix the positions of a sequence.
                    (a) Attention does fewer operations than a recurrence while
                    the sequence is shorter than the vectors are wide; beyond,
                    it pays in proportion to the length. (b) Through a
                    recurrence information takes as many steps as positions,
                    through attention one. (c) With a tanh in the loop the
                    gradient that reaches a token fades with every update;
                    without it, it does not fade but narrows: of its directions
                    {{ result("layer_cost", "/gradient/linear/directions_kept/value", ".0%") }}
                    are left at the largest distance. Through attention
                    distance does not matter (bands: four standard errors). (d) While
                    generating, a recurrence remembers one state, attention
                    the keys and values of every token.""",
                "caption_zh": """混合序列各位置的两种方式。(a) 序列比向量宽度短时，
                    注意力的运算量少于循环；超过之后，代价随长度成比例增长。(b) 信息经过
                    循环需要的步数等于位置之差，经过注意力只需一步。(c) 循环内有 tanh 时，
                    到达某个 token 的梯度在每次更新中衰减；没有 tanh
                    时不衰减，但会变窄：在最大距离处只剩
                    {{ result("layer_cost", "/gradient/linear/directions_kept/value", ".0%") }}
                    的方向。经过注意力则与距离无关（色带为四个标准误差）。(d) 生成时，循环只需记住一个状态，注意力需要记住每个 token
                    的键和值。""",
            },
        ],
    },
    {
        "experiment": "soft_lookup",
        "title_en": "Attention as a soft dictionary lookup",
        "title_zh": "注意力：软字典查找",
        "question_en": """What does attention return when a dictionary would
            find an exact match or nothing? Every key takes part, each by how
            well it matches.""",
        "question_zh": """字典要么精确命中，要么什么也找不到；注意力返回什么？
            每个键都参与，匹配越好，占比越大。""",
        "figures": [
            {
                "name": "soft_lookup",
                "chapter_figure": "6.1",
                "caption_en": """A soft lookup lies between a plain average and
                    an exact match. (a) Multiplying all scores by a factor
                    moves the weights from equal shares to one single key.
                    (b) The answer moves in a straight line from the mean of
                    the values to the value of the best key; the printed
                    answer is ({{ published("soft_lookup.output_1") }},
                    {{ published("soft_lookup.output_2") }}). (c) While the query
                    turns, the hard answer stands still and then jumps
                    ({{ result("soft_lookup", "/path/hard_jumps") }} times), so it has no
                    useful gradient; the soft answer always has a slope. (d) So
                    gradient descent moves only the soft one: the loss falls to
                    {{ result("soft_lookup", "/learning/soft_loss_last_over_first/mean", ".1g") }}
                    of its start, the hard one's stays.""",
                "caption_zh": """软查找介于简单平均与精确命中之间。(a) 所有分数
                    同乘一个因子，权重就从均分变为集中在一个键上。(b) 答案沿直线
                    从各值的平均移到最佳键的值；书中印出的答案是
                    ({{ published("soft_lookup.output_1") }},
                    {{ published("soft_lookup.output_2") }})。(c) 查询转动时，硬查找的
                    答案先保持不变再突然跳变（共
                    {{ result("soft_lookup", "/path/hard_jumps") }}
                    次），没有有用的梯度；软查找的答案处处有斜率。(d)
                    因此梯度下降只能改进软查找：损失降到起始的
                    {{ result("soft_lookup", "/learning/soft_loss_last_over_first/mean", ".1g") }}
                    倍，硬查找的损失不变。""",
            },
        ],
    },
    {
        "experiment": "permutation",
        "title_en": "What attention knows about order",
        "title_zh": "注意力对顺序了解多少",
        "question_en": """Two sentences of the same words in another order: can
            attention tell them apart?""",
        "question_zh": """两个句子用词相同、顺序不同：注意力能区分它们吗？""",
        "figures": [
            {
                "name": "permutation",
                "caption_en": """The outputs of the words of two sentences that
                    differ in order only; a line joins a word's two outputs.
                    (a) Attention alone gives each word the same output in
                    both, to rounding
                    ({{ result("permutation", "/sentences/draws") }} draws). (b) A causal
                    mask breaks the symmetry, since what came before differs.
                    (c) So does a vector added for each position.""",
                "caption_zh": """两个仅顺序不同的句子中各词的输出；连线连接同一个词的
                    两个输出。(a) 单靠注意力，每个词在两句中的输出相同，只差舍入误差
                    （{{ result("permutation", "/sentences/draws") }} 次抽样）。(b) 因果掩码打破
                    对称，因为之前的内容不同。(c) 为每个位置加上一个向量同样打破
                    对称。""",
            },
        ],
    },
    {
        "experiment": "masking",
        "title_en": "Masks, padding and the edges",
        "title_zh": "掩码、填充与边界情形",
        "question_en": """Which keys may a query see, and what happens at the
            edges: with pads on either side, with very large scores, and in a
            row that sees no key at all?""",
        "question_zh": """一个查询可以看见哪些键？在边界处——左右填充、极大的
            分数、完全看不到键的行——又会发生什么？""",
        "figures": [
            {
                "name": "attention_shapes",
                "chapter_figure": "6.2",
                "caption_en": """The shapes of the tensors, read off a run with
                    {{ result("masking", "/shapes/figure/X/sizes/0") }} tokens and width
                    {{ result("masking", "/shapes/figure/X/sizes/1") }} (sides drawn on a
                    logarithmic scale). (a) One input gives queries, keys and
                    values, a row per token. (b) Every query scores every key;
                    the filled rows belong to one query all the way from Q to
                    its output in O.""",
                "caption_zh": """各张量的形状，取自一次实际运行：
                    {{ result("masking", "/shapes/figure/X/sizes/0") }} 个 token，宽度
                    {{ result("masking", "/shapes/figure/X/sizes/1") }}（边长按对数绘制）。
                    (a) 同一输入给出查询、键和值，每个 token 一行。(b) 每个查询给每个
                    键打分；着色的行从 Q 到 O 中的输出都属于同一个查询。""",
            },
            {
                "name": "masking",
                "caption_en": """What masks do. (a) Under the causal mask a
                    query sees itself and what came before; padding is hidden
                    from every query. (b) With the causal mask one pass gives
                    the same losses as one pass for each prefix
                    ({{ result("masking", "/prefixes/passes/together") }} against
                    {{ result("masking", "/prefixes/passes/separate") }} passes); without
                    it the future leaks in. (c) In a left-padded batch the
                    first pads see nothing; a softmax by hand answers NaN, and
                    after {{ result("masking", "/fully_masked/layers") }} layers
                    {{ result("masking", "/fully_masked/by_hand/nan_tokens_after_last_layer") }}
                    of {{ result("masking", "/padding/lengths/1") }} real tokens are
                    spoilt. (d) A large negative penalty leaves a small weight;
                    only minus infinity leaves none.""",
                "caption_zh": """掩码的作用。(a) 在因果掩码下，查询只能看见自己和之前
                    的位置；填充对所有查询隐藏。(b) 有因果掩码时，一次前向得到的损失
                    与逐个前缀计算的相同（{{ result("masking", "/prefixes/passes/together") }}
                    次对 {{ result("masking", "/prefixes/passes/separate") }}
                    次前向）；没有掩码，未来就会泄漏进来。(c) 左填充的 batch 中，开头的
                    填充什么也看不见；手写 softmax 给出 NaN，经过
                    {{ result("masking", "/fully_masked/layers") }} 层后，
                    {{ result("masking", "/padding/lengths/1") }} 个真实 token 中有
                    {{ result("masking", "/fully_masked/by_hand/nan_tokens_after_last_layer") }}
                    个被污染。(d) 很大的负惩罚仍留下很小的权重；只有负无穷使之为零。""",
            },
        ],
    },
    {
        "experiment": "saturation",
        "title_en": "Why scores are scaled",
        "title_zh": "为什么要缩放分数",
        "question_en": """What does the scale of the scores do to the softmax,
            to its gradient, and to learning?""",
        "question_zh": """分数的尺度对 softmax、对它的梯度、对学习有什么影响？""",
        "figures": [
            {
                "name": "saturation",
                "chapter_figure": "6.3",
                "caption_en": """Rows of {{ parameter("saturation", "keys") }} random
                    keys at head width {{ parameter("saturation", "d_head") }},
                    {{ parameter("saturation", "draws") }} draws. (a) Without the scale
                    most rows give nearly all their weight to one key. (b)
                    Their entropy is near zero; with the scale it is near that
                    of equal weights. (c) The cause: the spread of a dot
                    product grows like the root of the width, whatever the
                    distribution of the entries; dividing by that root undoes
                    it. (d) The effect: hardly any gradient passes an unscaled
                    softmax at large widths (bands: four standard errors).""",
                "caption_zh": """头宽度 {{ parameter("saturation", "d_head") }}、每行
                    {{ parameter("saturation", "keys") }} 个随机键、
                    {{ parameter("saturation", "draws") }} 次抽样。(a) 不缩放时，大多数行把几乎
                    全部权重给了一个键。(b) 这些行的熵接近零；缩放后接近均匀权重的熵。
                    (c) 原因：无论各元素的分布如何，点积的离散程度都按宽度的平方根增长；
                    除以该平方根即可抵消。(d) 后果：宽度较大时，几乎没有梯度能通过未缩放
                    的 softmax（色带为四个标准误差）。""",
            },
            {
                "name": "softmax_jacobian",
                "caption_en": """The softmax passes gradients through its
                    Jacobian J. (a) Its trace is largest for equal weights and
                    vanishes as one weight takes all. (b) The matrix itself:
                    with equal weights every score matters; with a one-hot row
                    nothing passes.""",
                "caption_zh": """softmax 通过雅可比矩阵 J 传递梯度。(a) 权重均匀时迹
                    最大；某个权重独占时迹趋于零。(b) 矩阵本身：权重均匀时每个分数都起
                    作用；独热的行什么也传不过去。""",
            },
            {
                "name": "learning_speed",
                "caption_en": """A small model learns to find the matching key.
                    Started from unscaled scores it learns more slowly: under
                    gradient descent the same scaled model needs
                    {{ result("saturation", "/training/gradient_descent/slowdown/unscaled_start/value", ".1f") }}
                    times as many steps from that start, under Adam
                    {{ result("saturation", "/training/adam/slowdown/unscaled_start/value", ".1f") }}
                    times. The unscaled model is not always slower under plain
                    gradient descent at the same rate
                    ({{ result("saturation", "/training/gradient_descent/slowdown/unscaled/value", ".2f") }}
                    times): its queries and keys also get larger gradients. At
                    the best rate for each it needs
                    {{ result("saturation", "/training/gradient_descent/best_rate_slowdown/unscaled/value", ".1f") }}
                    times as many.""",
                "caption_zh": """一个小模型学习找到匹配的键。从未缩放的分数出发学得更慢：
                    用梯度下降时，同一个缩放模型从该起点出发需要
                    {{ result("saturation", "/training/gradient_descent/slowdown/unscaled_start/value", ".1f") }}
                    倍的步数，用 Adam 时为
                    {{ result("saturation", "/training/adam/slowdown/unscaled_start/value", ".1f") }}
                    倍。学习率相同时，未缩放模型用普通梯度下降并不总是更慢
                    （{{ result("saturation", "/training/gradient_descent/slowdown/unscaled/value", ".2f") }}
                    倍）：它的查询和键得到的梯度也更大。若各用最佳学习率，它需要
                    {{ result("saturation", "/training/gradient_descent/best_rate_slowdown/unscaled/value", ".1f") }}
                    倍的步数。""",
            },
        ],
    },
    {
        "experiment": "worked_example",
        "title_en": "The worked example, forward and backward",
        "title_zh": "手算示例：前向与反向",
        "question_en": """Does the example on
            {{ result("worked_example", "/inputs/tokens") }} tokens come out, forward and
            backward, to the last printed digit, and what does it show?""",
        "question_zh": """{{ result("worked_example", "/inputs/tokens") }} 个 token
            的示例，前向和反向是否与印出的每一位数字相符？它说明了什么？""",
        "figures": [
            {
                "name": "convex_hull",
                "chapter_figure": "6.4",
                "caption_en": """Outputs lie in the convex hull of the values
                    that the query sees. (a) Under the causal mask: the first
                    output is the first value, the second lies on an edge, the
                    third inside; lines are as thick as the weights. (b)
                    Without the mask, enlarged: removing the scale moves every
                    output towards its best match. (c)
                    {{ parameter("worked_example", "hull_draws") }} random queries and
                    keys: softmax weights never leave the hull
                    ({{ result("worked_example", "/geometry/hull/attention/outside") }}
                    outside), the raw scores as weights mostly do
                    ({{ result("worked_example", "/geometry/hull/scores_without_softmax/outside") }}
                    outside).""",
                "caption_zh": """输出位于查询可见的值的凸包内。(a) 因果掩码下：第一个输出
                    就是第一个值，第二个在边上，第三个在内部；线的粗细表示权重。(b)
                    去掉掩码，局部放大：去掉缩放使每个输出移向其最佳匹配。(c)
                    {{ parameter("worked_example", "hull_draws") }} 组随机的查询和键：softmax
                    权重从不离开凸包（外部
                    {{ result("worked_example", "/geometry/hull/attention/outside") }}
                    个），直接用分数作权重则大多离开（外部
                    {{ result("worked_example", "/geometry/hull/scores_without_softmax/outside") }}
                    个）。""",
            },
            {
                "name": "hand_backward",
                "caption_en": """The backward pass by hand. (a) A weight whose
                    gradient g is above the current average gives its score a
                    positive gradient, so that gradient descent lowers the score; one
                    below a negative one, so that it is raised; one near the
                    average hardly any. (b) Pulls on the query: on its first component they cancel, on its second
                    they do not. (c) The same rule on
                    {{ parameter("worked_example", "rule_rows") }} random rows (a sample
                    is shown): the sign follows g minus its average, the size the
                    weight.""",
                "caption_zh": """手算反向传播。(a) 某权重的梯度 g 高于当前平均，其分数的梯度为正，
                    梯度下降会降低该分数；低于平均则梯度为负，分数被提高；接近平均则几乎为零。(b) 对查询的拉力：在第一分量上相互
                    抵消，在第二分量上则不然。(c) 在
                    {{ parameter("worked_example", "rule_rows") }}
                    个随机行上的同一规则（图中为样本）：符号由 g 与平均之差决定，大小由
                    权重决定。""",
            },
        ],
    },
    {
        "experiment": "multi_head",
        "title_en": "What several heads compute that one cannot",
        "title_zh": "多个头能做到而一个头做不到的事",
        "question_en": """What do several heads compute that one cannot, what
            does each read and write, and how do two of them complete a
            repetition?""",
        "question_zh": """多个头能算出一个头算不出的什么？每个头读什么、写什么？
            两个头又如何补全一段重复？""",
        "figures": [
            {
                "name": "multi_head",
                "caption_en": """Several heads. (a) One softmax shares a total
                    weight of one: whatever the scores, the output is at least
                    half way off one of the two values it should bring; two
                    heads bring both. (b) A head works in a narrow space: its
                    two circuits have as many singular values above rounding as
                    the head is wide. (c) Feed-forward layers stay at their
                    position; only attention carries information across. (d)
                    Operations of a layer of width
                    {{ parameter("multi_head", "large_width") }}: projections grow with
                    the length, scores and averages with its square.""",
                "caption_zh": """多个头。(a) 一个 softmax 只有总量为一的权重可分：无论
                    分数如何，输出总与两个目标值之一至少相差一半；两个头则都能取到。(b)
                    每个头在较窄的空间中工作：两个电路中超出舍入误差的奇异值个数等于头的
                    宽度。(c) 前馈网络只在自己的位置上计算；只有注意力跨位置传递信息。(d)
                    宽度为 {{ parameter("multi_head", "large_width") }}
                    的一层的运算量：投影随长度增长，打分与加权平均随长度的平方增长。""",
            },
            {
                "name": "hand_built_circuit",
                "caption_en": """An induction circuit with weights set by hand
                    reads "{{ result("multi_head", "/induction/sentence/1") }}
                    {{ result("multi_head", "/induction/sentence/2") }} …
                    {{ result("multi_head", "/induction/sentence/1") }}" and predicts
                    "{{ result("multi_head", "/induction/variants/intact/predicted") }}".
                    (a) The previous-token head of the first layer attends from
                    every token to the one before, and writes which it is. (b)
                    The induction head of the second layer attends from the last
                    token to the position where that token was written, and
                    copies the token there. (c) Of {{ result("multi_head", "/induction/drawn/sequences") }}
                    random sequences the circuit completes all; broken in any
                    of these ways it completes few or none (lines: four
                    standard errors).""",
                "caption_zh": """手工设定权重的归纳电路，读到
                    “{{ result("multi_head", "/induction/sentence/1") }}
                    {{ result("multi_head", "/induction/sentence/2") }} …
                    {{ result("multi_head", "/induction/sentence/1") }}”后预测
                    “{{ result("multi_head", "/induction/variants/intact/predicted") }}”。(a)
                    第一层的前一 token 头从每个 token 关注前一个 token，写入那是什么。(b)
                    第二层的归纳头从最后一个 token 关注写有该 token
                    的位置，并复制那里的 token。(c)
                    {{ result("multi_head", "/induction/drawn/sequences") }}
                    个随机序列，电路全部补全正确；以这些方式中的任何一种破坏后，则很少或
                    完全不能（线段为四个标准误差）。""",
            },
        ],
    },
    {
        "experiment": "induction",
        "title_en": "Induction heads in a trained model",
        "title_zh": "训练模型中的归纳头",
        "question_en": """A two-layer model learns to continue repetitions. Which
            heads does it grow for that, and what happens without them?""",
        "question_zh": """两层模型学会续写重复。它为此长出了哪些头？去掉它们会
            怎样？""",
        "figures": [
            {
                "name": "induction_heads",
                "chapter_figure": "6.7",
                "caption_en": """The two heads that a trained model continues
                    repetitions with, found by what their removal costs. (a) On
                    a sequence that repeats a block of
                    {{ result("induction", "/example/period") }} tokens (lines), the
                    previous-token head attends to the position before, (b) the
                    induction head to what followed the token's earlier copies. (c) The loss on
                    repeats falls within a narrow window (grey); where nothing
                    can be predicted it rises and recovers. (d) The
                    induction head's score jumps in that window. (e) Without the
                    previous-token head {{ result("induction", "/found/previous_token/zero/accuracy/value", ".0%") }}
                    of the repeated tokens are still predicted, without the
                    other head of its layer
                    {{ result("induction", "/found/other_first/zero/accuracy/value", ".0%") }};
                    the heads of the second layer stand in for each other.
                    (f) The previous-token head acts through the keys of
                    the second layer alone (lines: four standard errors over
                    sequences).""",
                "caption_zh": """训练后的模型续写重复所用的两个头，依据去掉它们的代价
                    找到。(a) 在一个重复
                    {{ result("induction", "/example/period") }} 个 token
                    的序列上（细线标出周期），前一 token 头关注前一个位置，(b)
                    归纳头关注该 token 先前各次出现之后的内容。(c)
                    重复部分的损失在一个狭窄窗口（灰色）内下降；不可预测的部分先升后降。(d)
                    归纳头的得分在该窗口内跃升。(e) 去掉前一 token 头后，仍有
                    {{ result("induction", "/found/previous_token/zero/accuracy/value", ".0%") }}
                    的重复 token 被预测正确，去掉同层另一个头则为
                    {{ result("induction", "/found/other_first/zero/accuracy/value", ".0%") }}；第二层的两个头可以互相替代。(f)
                    前一 token 头只通过第二层的键起作用（线段为对序列的四个标准误差）。""",
            },
            {
                "name": "induction_circuit",
                "caption_en": """The circuit in the weights, without running the
                    model. (a) What attending to a token writes to the logits:
                    for
                    {{ result("induction", "/circuits/output/largest_on_diagonal", ".0%") }}
                    of the tokens the largest raise is its own. (b) How a
                    token's query scores a key into which the previous-token
                    head has written a token: again the diagonal. (c) The keys
                    of the second layer read the output of the previous-token
                    head more strongly than those of random heads would (band:
                    two standard deviations), its queries more weakly. (d) The
                    previous-token head attends to the position before only
                    where a later position may look for what it wrote, so its
                    mean over all positions is low.""",
                "caption_zh": """权重中的电路，无须运行模型。(a) 关注某个 token
                    会向 logits 写入什么：对
                    {{ result("induction", "/circuits/output/largest_on_diagonal", ".0%") }}
                    的 token，提高最多的是它自身。(b) 某个 token
                    的查询对前一 token 头写入了某 token 的键有多匹配：同样是对角线。(c)
                    第二层的键读取前一 token
                    头的写入，强于随机头（色带为两个标准差）；查询则更弱。(d) 前一 token
                    头只在后文可能查找的位置关注前一位置，所以它对所有位置的平均值不高。""",
            },
            {
                "name": "induction_controls",
                "caption_en": """What is no induction, and what needs no second
                    layer. (a) One layer on the same data does not learn to
                    continue; with keys smeared over two positions it does, and
                    sooner. (b) A one-layer model that has seen one period only
                    continues that period by position, and of others only
                    short ones in part.
                    (c) Its head has the stripes of an induction head there,
                    and only there. An attention map alone would not have told
                    the difference.""",
                "caption_zh": """什么不是归纳，什么不需要第二层。(a)
                    单层模型在相同数据上学不会续写；若键涂抹到相邻两个位置则可以，而且更快。(b)
                    只见过一种周期的单层模型凭位置续写该周期，其他周期中仅能部分续写较短的。(c)
                    它的头只在该周期呈现归纳头的条纹。仅看注意力图无法分辨。""",
            },
        ],
    },
    {
        "experiment": "induction_sweep",
        "title_en": "Induction over seeds",
        "title_zh": "不同随机种子下的归纳",
        "question_en": """How often does a two-layer model form the circuit, and
            when?""",
        "question_zh": """两层模型多常形成这一电路？何时形成？""",
        "figures": [
            {
                "name": "induction_seeds",
                "caption_en": """Models that differ in nothing but the seed:
                    {{ result("induction_sweep", "/formed/count") }} of
                    {{ result("induction_sweep", "/formed/of") }} form the circuit.
                    (a) Repeated tokens predicted, as it is, without the
                    previous-token head, and without the other head of its
                    layer. Where the model shares the work between both heads
                    it can do without either. (b) The window in which the model
                    learns to use its context, and the step at which the
                    induction score has made half of its rise.""",
                "caption_zh": """仅随机种子不同的模型：
                    {{ result("induction_sweep", "/formed/of") }} 个中有
                    {{ result("induction_sweep", "/formed/count") }} 个形成该电路。(a)
                    预测正确的重复 token：原样、去掉前一 token
                    头、去掉同层另一个头。若模型由两个头分担这项工作，缺少任何一个都无妨。(b)
                    模型学会利用上下文的窗口，以及归纳得分升到一半的步数。""",
            },
        ],
    },
]

"""The words by which people speak of training, by what they mean; `a_b` are several words in a row."""

from __future__ import annotations

SUBJECTS = {
    "loss": """
        dice_loss diceloss iou_loss giou_loss mae_loss mse_loss metric_loss detection_loss segmentation_loss
        reconstruction_loss recognition_loss loss loos lose_function cost objective criterion bce bce_loss
        cross_entropy nll mse elbo kl perplexity ppl lossfunction loss_function
    """,
    "error": "error exception runtimeerror valueerror typeerror indexerror crash traceback stack_trace error_message",
    "accuracy": "accuracy acc accuracies top_1 top1 top_5 top5",
    "metric": """
        metric score f1 f_1 f1_score auc auroc roc dice iou miou map map50 ap recall precision sensitivity
        specificity bleu rouge wer cer psnr ssim fid ndcg mrr kappa mcc rmse mae mape r2 pearson spearman
        confusion_matrix hit_rate jaccard eer chrf meteor cider torchmetrics f_score eval_metric lpips
    """,
    "result": """
        result performance quality benchmark_number reward return number_in_the_paper figures detection recognition
        reconstruction
    """,
    "validation": """
        new_ones new_pictures new_photos new_samples new_examples new_inputs validation val valid validating dev_set
        devset eval evaluation evaluate test testing testset holdout held_out unseen new_data real_data new_images
        other_data real_world out_of_sample
    """,
    "inference": "inference infer deployment deploy production predict_time predicting",
    "training": """
        train training trainset fit finetune fine_tune pretraining pretrain finetuning trainable learning_process
    """,
    "memory": """
        shared_memory killed_by_signal memory ram vram mem gpu_memory cuda_memory host_memory oom memory_usage
        memory_consumption memory_footprint swap gb mb gib memory_leak out_of_memory outofmemoryerror memory_error
        memoryerror
    """,
    "gpu": "gpu cuda device nvidia mps tpu xla nvidia_smi rocm a100 v100 h100 rtx 3090 4090 t4 accelerator",
    "cpu": "cpu processor",
    "gradient": """
        receive_grad receive_gradient get_grad get_gradient have_grad have_gradient has_grad has_gradient
        receive_any_gradient gradient grad backprop backpropagation backward
    """,
    "weights": """
        weight parameter param layer backbone encoder decoder bias head lora adapter conv embedding module submodule
        last_layer first_layer batchnorm_statistics running_mean running_var bn_stats batch_norm_statistics
        running_stats attention
    """,
    "output": """
        output prediction predict predicted logit answer response generate generated caption segmentation
        translation box bbox bounding_box mask softmax probability confidence sampled inferred summary transcript
        transcription reconstructed forecast regression synthesized embedding_vector
    """,
    "model": """
        generator discriminator critic model network net nn cnn rnn lstm gru transformer gan vae autoencoder unet
        bert resnet vit classifier mlp gpt detector regressor agent policy dqn ppo llm
    """,
    "class": "class label category categories classes",
    "lr": "learning_rate lr scheduler lr_scheduler learning_rates schedule lrscheduler onecyclelr cosine",
    "loader": """
        loading_jpeg loading_file loading_picture loading_sample loading_batch reading_file reading_image decoding
        dataloader data_loader data_loading loading_data num_workers worker prefetch loading_images load_data
        load_image input_pipeline preprocessing augmentation transforms dataset_loading random_crop getitem collate
        to_cuda load_dataset data_transfer copying_data transfer host_to_device
    """,
    "first": """
        epoch_one epoch_1 first_call first_run first_inference first_predict first initial initially beginning
        start_of_training at_the_start at_start step_0
        first_epoch first_batch first_iteration first_step iteration_0 epoch_0 init initialization before_training
        untrained from_the_start outset right_at_the_beginning warmup_batch
    """,
    "best": """
        modelcheckpoint model_checkpoint wrong_epoch save_top_k checkpoint_callback best best_model best_checkpoint
        best_weights best_epoch early_stopping best_state
    """,
    "last": "last final latest last_epoch final_epoch",
    "batch": "batch minibatch mini_batch micro_batch",
    "input": "input sample example image images picture sentence text prompt query",
    "time": "time duration second minute hour eta iteration_time epoch_time time_per_epoch step_time",
    "optimizer": "optimizer optim adam adamw sgd rmsprop",
    "data": "data dataset row datapoint",
}
"""What a statement is about."""

BEHAVIOURS = {
    "nan": """
        nan nans inf infinity infinite not_a_number infs nan_values non_finite nonfinite overflow underflow -inf
    """,
    "falls": """
        ~_lower ~_smaller ~_less smaller_and_smaller lower_and_lower less_and_less go_below goes_below get_below
        gets_below fall_below falls_below drop_below drops_below decrease drop fall
        fell decline reduce reduction down go_down went_down goes_down going_down lower lowering shrink descend
        minimize minimise dropping decay diminish descent
    """,
    "learns": """
        learn learnt improve improvement converge convergence progress optimise optimize get_better gets_better
        getting_better learning learned
    """,
    "grows": """
        increase grow grew growing grown rise rises rose risen climb up go_up goes_up went_up going_up ramp_up
        higher ~_larger ~_bigger ~_higher ~_more ~_greater larger_and_larger bigger_and_bigger higher_and_higher
        more_and_more accumulate leak leaking leaked memory_leak raise pile_up build_up balloon creep_up eat eats_up
        fill_up filled goes_higher raising rising overflowing creep keep_up consume_more
    """,
    "explodes": """
        explode explosion explodes exploding diverge divergence diverging blow_up blows_up blew_up blowing_up
        skyrocket shoot_up shoots_up exponential astronomical blown_up goes_crazy exponentially thousandfold
    """,
    "high": """
        huge high very_high higher_than way_higher large enormous big gigantic massive too_high high_value billions
        millions thousands insane
    """,
    "low": "low lower_than very_low too_low tiny small less lowish under",
    "stuck": """
        bounce_around bouncing_around oscillates_around hovers_around fluctuating_around jumps_around sit sits
        forever sits_at stuck constant flat stagnate stagnant unchanged static stall hover constantly does_nothing
        nothing_happens stay_at stays_at stay_around remain remains_at stay stays wont_move freezes not_moving
        hang_around stand_still frozen_at stuck_at always_around always_about fluctuate_around
    """,
    "plateau": """
        nothing_more then_nothing nothing_else_happens plateau saturate saturation stagnates_after stops_improving
        stop_improving stops_learning stop_learning stop_decreasing stops_decreasing stopped_learning
        stopped_improving stopped_decreasing ceases_to levels_off level_off flatten flattens_out flattening
        no_longer_improving bottom_out stops_converging stop_converging stops_dropping asymptote quits_improving
        no_more_improvement stopped_dropping stops_going_down stop_going_down platau
    """,
    "same": """
        repeat repetitive repeating unchanged same identical equal indistinguishable alike duplicate constant
    """,
    "always": """
        always all every_single everything only all_the_time each_time nothing_but regardless entire whatever any
        just
    """,
    "zero": "0 zero empty returns_nothing yields_nothing nothing_detected zeroes null no_detections vanish_to_zero black blank",
    "none": "none nonetype",
    "negative": "negative minus below_0 below_zero less_than_0 less_than_zero under_zero 0_negative",
    "impossible": """
        above_1 above_one over_1 over_100 greater_than_1 larger_than_1 bigger_than_1 more_than_100 above_100
        greater_than_100 higher_than_1 greater_than_one more_than_1 exceed_1 exceed_100 over_one
        larger_than_one more_than_one exceeds_one impossible bigger_than_100 higher_than_100 out_of_range
        larger_than_100 beyond_1 exceed_one above_high over_high greater_than_high more_than_high higher_than_one
    """,
    "changes": "budge change update move modify modified moving altered drift overwritten drifting shift evolve",
    "differs": """
        different two_result two_answer another_number another_result another_answer differ difference inconsistent
        inconsistency mismatch vary varies varying discrepancy diverse
        nondeterministic non_deterministic unreproducible irreproducible variance variation conflicting unmatched
        changing changes_each disagree deviate deviation inconsistently variability non_reproducible
    """,
    "jumps": """
        epoch_to_epoch one_epoch_to_the_next next_epoch_it vibrate vibration shake shock concuss turbulent
        change_greatly change_drastically change_sharply change_heavily
        comes_back varies_much varies_a_lot vary_a_lot vary_much varies_greatly changes_a_lot increase_and_decrease
        decrease_and_increase rise_and_fall fluctuating_between up_then_down between_negative_and_positive
        goes_up_and_down go_up_and_down going_up_and_down jump fluctuate fluctuation oscillate oscillation noisy
        unstable spike spiky erratic bounce swing zigzag instability wild wildly jumpy noise unstably up_and_down
        ups_and_downs shaky back_and_forth all_over_the_place sawtooth irregular instable jitter osciliate
    """,
    "bad": """
        not_clear unclear miss misses missing_everything weird inferior_to not_as_good bad poor worse terrible awful
        degrade
        degradation fail failing failure deteriorate weak rubbish suboptimal worst underperform underperforming
        collapse inferior horrible suffer hurt hurts poorly disappointing unsatisfactory garbage gibberish nonsense
        nonsensical mediocre useless unusable inaccurate decreases_performance drop_in ruin destroy bizarre strange
        meaningless blurry noise_images unacceptable badly sucks lousy struggle broken worsen unsatisfying
    """,
    "wrong": """
        makes_no_sense make_no_sense unreasonable messed_up screws screw wrong incorrect incorrectly miscalculated
        wrongly erroneous way_off
        slightly_off is_off bug buggy weird strange nonsense mistaken false
    """,
    "good": """
        good great perfect fine excellent well ok okay nice nearly_perfect works_well perfectly decent correct
        correctly successful satisfying wonderful superb promising
    """,
    "suspicious": """
        too_good suspicious suspiciously unrealistic unrealistically implausible too_high cheat too_perfect
        too_good_to_be_true good_to_be_true unbelievably surprisingly_high
    """,
    "leakage": "leakage leak leaking leaked",
    "finite": "finite",
    "reaches": "manage drive bring push come_close reach achieve obtain attain get_close recreate acquire hit",
    "reproduces": "reproduce replicate recreate reproduction",
    "receives": """
        receive_grad receive_gradient get_grad get_gradient have_grad have_gradient has_grad has_gradient
        receive_any_gradient
    """,
    "works": """
        work working function functioning do_anything help effect effective apply have_effect trigger take_effect
    """,
    "broken": "broken break breaking breaks ignored ignore no_effect",
    "slow": """
        spent_in time_spent spend_in is_spent spends speed_up speeding_up slower_and_slower ~_slower ~_slow
        slowing_down slows_down slow_down gets_longer
        longer_and_longer ~_longer slowdown slower_over_time slow slow_start slower slowly
        bottleneck lag takes_forever take_longer longer takes_too_long too_long take_long long_time takes_long
        so_long speed throughput slowing sluggish takes_ages faster performance_issue speedup takes_hours long_wait
        pause delay waits wait takes_minutes very_long samples_per_second takes_more_time dominate
    """,
    "idle": """
        idle utilization utilisation underutilized gpu_usage gpu_util util starve starving low_usage 0_usage
        volatile under_utilized usage underused unused usage_low zero_usage
    """,
    "exhausted": """
        full consume exceed exceeds shared_memory_error out_of_memory oom exhausted run_out runs_out ran_out
        running_out killed kill not_enough allocate outofmemoryerror insufficient runs_oom memory_error memoryerror
    """,
    "vanish": """
        vanish nothing_flows nothing_arrives nothing_gets_through vanishing dead
        dying die disappear dead_relu vanished dead_neurons
    """,
    "chance": """
        chance random_guess random_guessing guess guessing coin_flip coin coin_toss random_chance random_level
        chance_level no_better_than_random same_as_random like_random 1/num_classes toss random_accuracy than_random
    """,
    "random": "randomness random randomly arbitrary stochastic",
    "overfit": """
        overfit over_fit overfitting overfits overfitted memorize memorise over_fitting memorizing overfitt
    """,
    "generalizes": "generalize generalise generalization generalisation",
    "gap": "gap",
    "imbalance": """
        less_frequent less_frequency low_frequency few_samples small_class small_category minor_class minor_category
        imbalance imbalanced minority rare underrepresented unbalanced majority skewed long_tail rare_class
        majority_class minority_class positive_class
    """,
    "confused": """
        confuse confused confusion swapped mixed_up misclassify misclassified mislabeled mislabelled label_noise
        noisy_labels
    """,
    "matches": "match agree coincide consistent correspond reproducible deterministic comparable equivalent",
    "stable": "stable steady smooth smoothly stabilize",
    "released": "release free released freed clear cleared garbage_collected deallocate freeing",
    "uses": "use used using utilize",
    "sees": "see detect recognize recognise find distinguish",
    "restarts": """
        from_scratch start_over starts_over starting_over restart from_the_beginning resets reset as_if_untrained
    """,
    "deserved": """
        should_be expected expectation than_expected supposed than_it_should they_should it_should hoped as_expected
    """,
    "raises": """
        raise_an_error raise_an_exception throw_an_error throw_an_exception raise_error throw_error give_an_error
        ends_with_an_error stops_with_an_error die_with fails_with abort aborts rejects reject rejected complain
        complains complaining not_accept does_not_accept do_not_accept throw throws thrown threw crash crashes crashed
        get_an_error getting_an_error traceback wont_accept refuses_my refuses_the refuses_label refuses_target
        refuses_input refuses_integer refuses_float blow_up_with does_not_like
    """,
    "refused": """
        scalar_type expected_scalar_type expected_float expected_long expected_double got_double got_float got_long
        out_of_bounds out_of_range_error index_out_of_range target_size input_size mat1 mat2 cannot_be_multiplied
        shapes_cannot shape_mismatch shapes_do_not_match size_mismatch sizes_do_not_match size_must_match
        must_match_the_size equal_size leaf_variable a_leaf in_place_operation inplace_operation
        modified_by_an_inplace
        not_require_grad does_not_require_grad no_grad_fn grad_fn wrong_dtype dtype_mismatch must_have_the_same_dtype
        dtype_error not_implemented_for no_implementation shape_error dimension_out_of_range
        expected_input expected_target wrong_shape stack_expects could_not_broadcast backward_a_second_time
        second_time_through backward_through_the_graph different_length unequal_length empty_parameter_list
        no_parameters zero_parameters
    """,
    "collapse": "mode_collapse collapse collapsed collapsing collapses",
    "hot": "hang deadlock freeze_forever hung",
}
"""What is said of it."""

_NEGATIONS = """
barely cannot cant couldnt didnt doesn doesnt dont fail failed fails hardly hasnt havent isnt lacks neither never no
nor not nothing nowhere rarely refuse refuses shouldnt unable wasnt without wont
"""
NEGATIONS = frozenset(_NEGATIONS.split())
"""Words that deny, or say that something fails to happen, what follows."""
_JOINTS = """
although and because but despite however so though whereas while yet
"""
JOINTS = frozenset(_JOINTS.split())
"""Words between two clauses."""
_SILENT = """
two_class binary_class multi_class 2_class 3_class multiclass a_lot all_reduce any_error any_help any_idea
anything_wrong as_well at_all back_up based_on batch_first
best_practice big_dataset custom_dataset data_set do_not_know during_the_process end_up ended_up ends_up even_after
first_time follow_up from_the_tutorial going_wrong help_me high_level high_resolution higher_order
i_do_not_understand in_general in_order_to large_dataset learning_process looks_like loss_function low_level
low_resolution need_help no_error no_errors no_idea no_matter no_problem not_only not_sure not_understand
please_help same_issue same_problem same_time same_way set_up setup small_dataset something_wrong test_time
test_train time_series train_test training_process up_to use_case well_as what_am_i_doing_wrong what_could_be_wrong
what_is_wrong whats_wrong with_respect without_any_error without_error works_fine_but
"""
SILENT = tuple(_SILENT.split())
"""Expressions of which no word means what it means alone."""
